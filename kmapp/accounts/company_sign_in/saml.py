"""Verification of SAML 2.0 responses (Web Browser SSO Profile, section 4.1.4.3). Pure.

Only elements that the verified signature covers are read. The response is bound to a sign-in by the
id of its request, as by state and nonce in OpenID Connect.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from zlib import compressobj

from cryptography.x509 import Certificate, load_pem_x509_certificate
from lxml import etree
from signxml.algorithms import DigestAlgorithm, SignatureMethod
from signxml.exceptions import SignXMLException
from signxml.verifier import SignatureConfiguration, XMLVerifier

from kmapp.accounts.company_sign_in.assertions import Assertion, RefusalReason, SignInRefused

MAX_RESPONSE_LENGTH = 256 * 1024  # characters
CLOCK_SKEW = timedelta(seconds=60)
NAMES = {"p": "urn:oasis:names:tc:SAML:2.0:protocol", "a": "urn:oasis:names:tc:SAML:2.0:assertion"}
BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
POST = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
SUCCESS = "urn:oasis:names:tc:SAML:2.0:status:Success"
TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
EMAIL_FORMAT = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"
CLAIMS = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims"
EMAIL_NAMES = ("email", "mail", "urn:oid:0.9.2342.19200300.100.1.3", f"{CLAIMS}/emailaddress")
NAME_NAMES = (
    *("displayName", "name", "urn:oid:2.16.840.1.113730.3.1.241"),
    "http://schemas.microsoft.com/identity/claims/displayname",
)
SIGNATURES = SignatureConfiguration(
    signature_methods=frozenset(
        {
            *(SignatureMethod.RSA_SHA256, SignatureMethod.RSA_SHA384, SignatureMethod.RSA_SHA512),
            *(SignatureMethod.ECDSA_SHA256, SignatureMethod.ECDSA_SHA384),
            SignatureMethod.ECDSA_SHA512,
        }
    ),
    digest_algorithms=frozenset(
        {DigestAlgorithm.SHA256, DigestAlgorithm.SHA384, DigestAlgorithm.SHA512}
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedResponse:
    """The values that a response must match."""

    issuer: str
    certificate: str  # of the provider's signatures, in PEM
    audience: str  # the name of this service
    acs_url: str
    request_id: str


def build_request_url(address: str, expected: ExpectedResponse) -> str:
    """Return the address at the provider with a request (HTTP-Redirect binding)."""
    request = etree.Element(
        f"{{{NAMES['p']}}}AuthnRequest",
        {
            "ID": expected.request_id,
            "Version": "2.0",
            "IssueInstant": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            "Destination": address,
            "AssertionConsumerServiceURL": expected.acs_url,
            "ProtocolBinding": POST,
        },
        nsmap={"samlp": NAMES["p"], "saml": NAMES["a"]},
    )
    etree.SubElement(request, f"{{{NAMES['a']}}}Issuer").text = expected.audience
    deflate = compressobj(wbits=-15)
    packed = deflate.compress(etree.tostring(request)) + deflate.flush()
    query = urlencode({"SAMLRequest": b64encode(packed).decode()})
    return f"{address}{'&' if '?' in address else '?'}{query}"


def parse_certificate(text: str) -> Certificate:
    """Parse a certificate in PEM, or only its base64, as in metadata. Raise ValueError."""
    _before, armoured, rest = text.partition("-----BEGIN CERTIFICATE-----")
    body = rest.partition("-----")[0] if armoured else text
    lines = "".join(body.split())
    pem = f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n"
    return load_pem_x509_certificate(pem.encode())


def parse_saml_response(encoded: str, expected: ExpectedResponse, groups_name: str) -> Assertion:
    """Return what the provider states in a response to the expected request."""
    root = _parse_xml(encoded)
    code = root.find("p:Status/p:StatusCode", NAMES)
    if code is None or code.get("Value") != SUCCESS:
        raise SignInRefused(RefusalReason.CANCELLED, "SAML: the provider reports no success")
    assertion = _find_signed_assertion(root, expected.certificate)
    _check_conditions(assertion, expected, datetime.now(UTC))
    return _parse_assertion(assertion, groups_name)


def _parse_xml(encoded: str) -> Any:
    """Parse the response. Refuse document types, and comments, which could split a value in two."""
    if len(encoded) > MAX_RESPONSE_LENGTH:
        raise _build_error("it is too long")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(b64decode(encoded), parser)
    except (ValueError, etree.XMLSyntaxError) as error:
        raise _build_error("it is no XML") from error
    if root.getroottree().docinfo.doctype:
        raise _build_error("it has a document type")
    if not all(isinstance(node.tag, str) for node in root.iter()):
        raise _build_error("it has comments or instructions")
    if root.tag != f"{{{NAMES['p']}}}Response":
        raise _build_error("it is no response")
    return root


def _find_signed_assertion(root: Any, certificate: str) -> Any:
    """Return the assertion that the signature covers, itself or with the whole response."""
    try:
        verified = XMLVerifier().verify(
            root, x509_cert=parse_certificate(certificate), expect_config=SIGNATURES
        )
    except (SignXMLException, ValueError, LookupError, TypeError, etree.LxmlError) as error:
        raise _build_error("its signature does not count") from error
    signed = verified.signed_xml  # type: ignore[union-attr]  # one reference
    if signed is None:
        raise _build_error("its signature covers no element")
    if signed.tag == f"{{{NAMES['a']}}}Assertion":
        return signed
    assertions = signed.findall("a:Assertion", NAMES)
    if signed.tag != root.tag or len(assertions) != 1:
        raise _build_error(
            "its signature covers no single assertion; encrypted ones are not supported"
        )
    return assertions[0]


def _check_conditions(assertion: Any, expected: ExpectedResponse, now: datetime) -> None:
    """Check the issuer, the audience, the recipient and the validity period of an assertion."""
    if _get_text(assertion.find("a:Issuer", NAMES)) != expected.issuer:
        raise _build_error("from another issuer")
    conditions = assertion.find("a:Conditions", NAMES)
    if conditions is None or not _is_valid_at(conditions, now):
        raise _build_error("it is not valid now")
    restrictions = conditions.findall("a:AudienceRestriction", NAMES)
    audiences = [set(_list_texts(each.findall("a:Audience", NAMES))) for each in restrictions]
    if not audiences or not all(expected.audience in each for each in audiences):
        raise _build_error("it is for another service")
    confirmations = assertion.findall("a:Subject/a:SubjectConfirmation", NAMES)
    if not any(_is_confirmed(each, expected, now) for each in confirmations):
        raise _build_error("it is for another sign-in")
    for statement in assertion.findall("a:AuthnStatement", NAMES):
        end = statement.get("SessionNotOnOrAfter")
        if end and _parse_time(end) <= now - CLOCK_SKEW:
            raise _build_error("the session at the provider has ended")


def _is_confirmed(confirmation: Any, expected: ExpectedResponse, now: datetime) -> bool:
    data = confirmation.find("a:SubjectConfirmationData", NAMES)
    return (
        confirmation.get("Method") == BEARER
        and data is not None
        and data.get("InResponseTo") == expected.request_id
        and data.get("Recipient") == expected.acs_url
        and data.get("NotOnOrAfter") is not None
        and _is_valid_at(data, now)
    )


def _is_valid_at(element: Any, now: datetime) -> bool:
    start, end = element.get("NotBefore"), element.get("NotOnOrAfter")
    has_begun = start is None or _parse_time(start) <= now + CLOCK_SKEW
    return has_begun and (end is None or now - CLOCK_SKEW < _parse_time(end))


def _parse_time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise _build_error("unreadable time") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parse_assertion(assertion: Any, groups_name: str) -> Assertion:
    name_id = assertion.find("a:Subject/a:NameID", NAMES)
    subject = _get_text(name_id)
    if not subject or len(subject) > 255 or not subject.isprintable():  # noqa: PLR2004
        raise _build_error("unreadable subject")
    name_format = name_id.get("Format", "")
    if name_format == TRANSIENT:
        raise _build_error("its subject changes at each sign-in")
    attributes = list(_parse_attributes(assertion))
    emails = [value for name in EMAIL_NAMES for value in _find_values(attributes, name)]
    names = [value for name in NAME_NAMES for value in _find_values(attributes, name)]
    email = next(iter(emails), subject if name_format == EMAIL_FORMAT else "")
    name = next(iter(names), "")
    return Assertion(
        subject=subject,
        email=email.strip(),
        is_verified=True,  # SAML has no such attribute: the provider vouches for its data
        name=name if name.isprintable() else "",
        groups=frozenset(_find_values(attributes, groups_name)),
    )


def _parse_attributes(assertion: Any) -> Iterator[tuple[str, list[str]]]:
    for attribute in assertion.findall("a:AttributeStatement/a:Attribute", NAMES):
        values = list(_list_texts(attribute.findall("a:AttributeValue", NAMES)))
        for name in {attribute.get("Name", ""), attribute.get("FriendlyName", "")} - {""}:
            yield name, values


def _find_values(attributes: Iterable[tuple[str, list[str]]], name: str) -> list[str]:
    return [value for each, values in attributes if each == name for value in values if value]


def _list_texts(elements: Iterable[Any]) -> Iterator[str]:
    return (_get_text(each) for each in elements)


def _get_text(element: Any) -> str:
    return "" if element is None else (element.text or "").strip()


def _build_error(why: str) -> SignInRefused:
    return SignInRefused(RefusalReason.INVALID, f"SAML: {why}")
