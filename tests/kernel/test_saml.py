"""SAML responses: valid ones are accepted; forged, foreign or expired ones are not (ASVS 6.8)."""

from base64 import b64encode
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
import xmlsec
from lxml import etree

from kmapp.accounts.company_sign_in.assertions import Assertion, RefusalReason, SignInRefused
from kmapp.accounts.company_sign_in.saml import (
    EMAIL_FORMAT,
    NAMES,
    TRANSIENT,
    ExpectedResponse,
    build_request_url,
    parse_certificate,
    parse_saml_response,
)
from tests.saml_provider import ISSUER, SIGN_IN_URL, SAMLProvider, parse_request

PROVIDER, FOREIGN = SAMLProvider(), SAMLProvider()
EXPECTED = ExpectedResponse(
    issuer=ISSUER,
    certificate=PROVIDER.certificate,
    audience="https://kmapp.test/sign-in/company/acme/",
    acs_url="https://kmapp.test/sign-in/company/acme/back/",
    request_id="_request",
)
URL = build_request_url(SIGN_IN_URL, EXPECTED)


def read(response: str, expected: ExpectedResponse = EXPECTED) -> Assertion:
    return parse_saml_response(response, expected, "groups")


def test_request_names_the_service() -> None:
    assert URL.startswith(f"{SIGN_IN_URL}?SAMLRequest=")
    assert build_request_url(f"{SIGN_IN_URL}?tenant=1", EXPECTED).startswith(
        f"{SIGN_IN_URL}?tenant=1&"
    )
    assert parse_request(URL) == {
        "request": "_request",
        "acs": EXPECTED.acs_url,
        "audience": EXPECTED.audience,
    }


def test_signed_responses_are_read() -> None:
    for signs in ("Assertion", "Response"):
        stated = read(PROVIDER.respond(URL, signs=signs, groups=("staff", "it")))
        assert (stated.subject, stated.email, stated.name) == ("s-1", "noor@acme.test", "Noor")
        assert stated.groups == {"staff", "it"}
    by_name = PROVIDER.respond(URL, subject="noor@acme.test", email="", name_format=EMAIL_FORMAT)
    assert read(by_name).email == "noor@acme.test"
    pem = PROVIDER.certificate
    bare = "".join(pem.splitlines()[1:-1])
    assert parse_certificate(pem) == parse_certificate(bare) == parse_certificate(f"\n{pem}\n")
    with pytest.raises(ValueError, match="PEM"):
        parse_certificate("not a certificate")


def assertion(root: Any) -> Any:
    return root.find("a:Assertion", NAMES)


def build_forged_assertion(root: Any) -> Any:
    """Return a copy of the assertion that names someone else, with an id of its own."""
    forged = deepcopy(assertion(root))
    for signature in forged.findall("{http://www.w3.org/2000/09/xmldsig#}Signature"):
        forged.remove(signature)
    forged.set("ID", "_forged")
    forged.find("a:Subject/a:NameID", NAMES).text = "victim"
    return forged


def replace_by_wrapper(root: Any) -> None:
    """Hide the signed assertion inside the forged one."""
    forged, genuine = build_forged_assertion(root), assertion(root)
    root.replace(genuine, forged)
    holder = etree.SubElement(forged, f"{{{NAMES['a']}}}Advice")
    holder.append(genuine)


def same_id(root: Any) -> None:
    forged = build_forged_assertion(root)
    forged.set("ID", "_assertion")
    root.insert(0, forged)


def set_text(path: str, text: str) -> Callable[[Any], None]:
    def change(root: Any) -> None:
        root.find(path, NAMES).text = text

    return change


def split_subject(root: Any) -> None:
    name = root.find("a:Assertion/a:Subject/a:NameID", NAMES)
    name.text = "victim"
    comment = etree.Comment("x")
    comment.tail = "@evil.test"
    name.append(comment)


def remove(path: str) -> Callable[[Any], None]:
    def change(root: Any) -> None:
        element = root.find(path, NAMES)
        element.getparent().remove(element)

    return change


CONDITIONS, SUBJECT = "a:Assertion/a:Conditions", "a:Assertion/a:Subject"
DATA = f"{SUBJECT}/a:SubjectConfirmation/a:SubjectConfirmationData"
STATEMENT = "a:Assertion/a:AuthnStatement"
PAST = "2020-01-01T00:00:00Z"
SHA1 = xmlsec.constants.TransformRsaSha1


def set_value(path: str, name: str, value: str) -> Callable[[Any], None]:
    return lambda root: root.find(path, NAMES).set(name, value)


FORGED: dict[str, dict[str, Any]] = {
    "not signed": {"signs": ""},
    "changed after signing": {"after": set_text("a:Assertion/a:Subject/a:NameID", "victim")},
    "a second assertion": {
        "after": lambda root: root.append(build_forged_assertion(root)),
        "signs": "Response",
    },
    "an old hash": {"algorithm": SHA1},
    "of two with one id": {"after": same_id},
    "a value in two parts": {"before": split_subject},
    "another issuer": {"issuer": "https://other.test"},
    "another service": {"audience": "https://other.test"},
    "no audience": {"before": remove(f"{CONDITIONS}/a:AudienceRestriction")},
    "no conditions": {"before": remove(CONDITIONS)},
    "another request": {"request": "_another"},
    "another recipient": {"acs": "https://other.test/back/"},
    "another confirmation": {"method": "urn:oasis:names:tc:SAML:2.0:cm:sender-vouches"},
    "no confirmation": {"before": remove(f"{SUBJECT}/a:SubjectConfirmation")},
    "expired": {"end": PAST},
    "expired subject": {"before": set_value(DATA, "NotOnOrAfter", PAST)},
    "not yet valid": {"before": set_value(CONDITIONS, "NotBefore", "2999-01-01T00:00:00Z")},
    "an unreadable time": {"end": "soon"},
    "a past session": {
        "before": set_value("a:Assertion/a:AuthnStatement", "SessionNotOnOrAfter", PAST)
    },
    "a changing subject": {"name_format": TRANSIENT},
    "no subject": {"subject": ""},
    "a long subject": {"subject": "x" * 256},
    "no assertion": {"before": remove("a:Assertion"), "signs": "Response"},
}


def refusal(response: str, expected: ExpectedResponse = EXPECTED) -> RefusalReason | None:
    try:
        read(response, expected)
    except SignInRefused as error:
        return error.reason
    return None


def test_forged_responses_are_refused() -> None:
    reasons = {name: refusal(PROVIDER.respond(URL, **how)) for name, how in FORGED.items()}
    assert reasons == dict.fromkeys(FORGED, RefusalReason.INVALID)
    assert refusal(FOREIGN.respond(URL)) == RefusalReason.INVALID
    assert (
        refusal(PROVIDER.respond(URL), replace(EXPECTED, certificate="")) == RefusalReason.INVALID
    )
    failed = PROVIDER.respond(URL, status="urn:oasis:names:tc:SAML:2.0:status:Responder")
    assert refusal(failed) == RefusalReason.CANCELLED
    entity = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'
    for document in (b"", b"<x/>", b"no xml", entity):
        assert refusal(b64encode(document).decode()) == RefusalReason.INVALID
    assert refusal("x" * 300_000) == RefusalReason.INVALID


def test_only_the_signed_part_is_read() -> None:
    for wrap in (replace_by_wrapper, lambda root: root.insert(0, build_forged_assertion(root))):
        assert read(PROVIDER.respond(URL, after=wrap)).subject == "s-1"
