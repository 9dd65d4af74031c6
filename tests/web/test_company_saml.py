"""Company sign-in with SAML, under the same rules as with OpenID Connect."""

from html import unescape
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.test import Client
from pytest_django import Settings

from kmapp.accounts.company_sign_in.models import CompanyIdentity, CompanySignIn
from kmapp.accounts.models import Account, Membership, User
from tests import makers
from tests.identity_provider import FROM_OWN_PAGE, IdentityProvider
from tests.saml_provider import ISSUER, SIGN_IN_URL, SAMLProvider
from tests.web.company_pages import SETTINGS, START, sign_in_form
from tests.web.pages import page

BACK = f"{START}back/"
SAML_SETTINGS = f"{SETTINGS}?protocol=saml"


def return_with(client: Client, response: str) -> Any:
    """Post a response as the provider's page does; its relay then repeats it from our own page."""
    relay = page(client.post(BACK, {"SAMLResponse": response}))
    sent = unescape(relay.split('name="SAMLResponse" value="', 1)[1].split('"', 1)[0])
    assert sent == response
    return client.post(BACK, {"SAMLResponse": sent, "relayed": "yes"})


def test_saml_signs_in_under_the_same_rules(
    admin: Client, acme: Account, identities: IdentityProvider, settings: Settings, alice: User
) -> None:
    settings.SIGN_IN_HOSTS = ["saml.test"]
    saml = SAMLProvider()
    fields = sign_in_form(
        identities,
        issuer=ISSUER,
        sign_in_url="http://saml.test/sign-in",
        certificate="not a certificate",
    )
    text = page(admin.get(SAML_SETTINGS))
    assert makers.missing(text, f"http://testserver{START}", f"http://testserver{BACK}") == []
    text = page(admin.post(SAML_SETTINGS, fields), 422)
    assert makers.missing(text, "not an X.509 certificate", "Enter an https:// URL.") == []
    fields |= {"sign_in_url": SIGN_IN_URL, "certificate": saml.certificate}
    assert admin.post(SAML_SETTINGS, fields).status_code == 302
    row = makers.get(CompanySignIn, acme)
    assert (row.uses_saml, row.client_id, row.client_secret) == (True, "", "")

    client = Client(enforce_csrf_checks=True)
    started = client.get(START, {"next": "/memory/"}, headers=FROM_OWN_PAGE)
    response = saml.respond(started.headers["Location"])
    assert return_with(client, response).headers["Location"] == "/memory/"
    noor = User.objects.get(email="noor@acme.test")
    assert client.session[SESSION_KEY] == str(noor.pk)
    assert makers.get(Membership, acme, user=noor).role == "reviewer"
    other = Client()
    other.get(START, headers=FROM_OWN_PAGE)
    assert "cannot trust" in page(return_with(other, response), 400), "it is for another sign-in"
    assert "has expired" in page(return_with(Client(), response), 400)
    assert SESSION_KEY not in other.session

    refused: dict[str, dict[str, Any]] = {
        "in no group": {"groups": ["kitchen"]},
        "Connect your login first": {"email": alice.email, "subject": "s-2"},
        "address is not one of": {"email": "noor@elsewhere.test"},
    }
    for text, values in refused.items():
        makers.update(CompanySignIn, acme, {}, email_domains=["acme.test", "example.test"])
        guest = Client()
        response = saml.respond(
            guest.get(START, headers=FROM_OWN_PAGE).headers["Location"], **values
        )
        assert text in page(return_with(guest, response), 403)
    assert not makers.rows(Membership, acme, user=noor)

    other_provider = sign_in_form(identities, count="1")
    assert admin.post(f"{SETTINGS}?protocol=openid", other_provider).status_code == 302
    assert not makers.get(CompanySignIn, acme).uses_saml
    assert makers.count(CompanyIdentity, acme) == 0, "another provider names other people"


def test_a_new_certificate_keeps_the_connected_people(
    admin: Client, acme: Account, identities: IdentityProvider, settings: Settings
) -> None:
    settings.SIGN_IN_HOSTS = ["saml.test"]
    fields = sign_in_form(identities, issuer=ISSUER, sign_in_url=SIGN_IN_URL)
    client = Client()
    for connected, saml in enumerate((SAMLProvider(), SAMLProvider())):
        form = {**fields, "certificate": saml.certificate}
        assert admin.post(SAML_SETTINGS, form).status_code == 302
        assert makers.count(CompanyIdentity, acme) == connected
        assert SESSION_KEY not in client.session, "the former key may have leaked"
        started = client.get(START, headers=FROM_OWN_PAGE)
        return_with(client, saml.respond(started.headers["Location"]))
        identity = makers.get(CompanyIdentity, acme)
        assert client.session[SESSION_KEY] == str(identity.user_id)
