"""Access through a company ends with the connection, the provider and the membership."""

import re
from html import unescape

import pytest
from django.test import Client

from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.company_sign_in.actions import remove_and_disconnect
from kmapp.accounts.company_sign_in.models import CompanyIdentity, CompanySignIn
from kmapp.accounts.company_sign_in.saml import parse_certificate
from kmapp.accounts.models import Account, Membership, User
from tests import makers
from tests.identity_provider import IdentityProvider
from tests.web.company_pages import SETTINGS, sign_in_form
from tests.web.pages import page


@pytest.fixture
def noor(company: IdentityProvider) -> Client:
    """Return the client of Noor, who has just signed in through the company."""
    company.put("noor", groups=["staff"])
    return sign_in(company)


def sign_in(company: IdentityProvider) -> Client:
    client = Client()
    company.sign_in(client, "noor")
    assert client.get("/memory/").status_code == 200
    return client


def test_sessions_end_with_the_connection_and_with_the_provider(
    company: IdentityProvider, noor: Client, admin: Client, acme: Account
) -> None:
    own = makers.signed_in(User.objects.get(email="noor@acme.test"))
    [identity] = makers.rows(CompanyIdentity, acme)
    path = f"{SETTINGS}people/{identity.pk}/disconnect/"
    assert f'href="{path}"' in page(admin.get(SETTINGS))
    assert "noor@acme.test" in page(admin.get(path))
    assert noor.get("/memory/").status_code == 200, "the page only asks"
    admin.post(path)
    assert noor.get("/memory/").status_code == 302
    assert own.get("/memory/").status_code == 200, "a session of one's own stays"
    again = sign_in(company)
    admin.post(SETTINGS, sign_in_form(company, name="Acme again", client_secret=""))
    assert again.get("/memory/").status_code == 200, "another name changes no session"
    admin.post(SETTINGS, sign_in_form(company, client_secret="", is_active=""))
    assert again.get("/memory/").status_code == 302


def test_another_provider_asks_before_it_disconnects_everyone(
    company: IdentityProvider, noor: Client, admin: Client, acme: Account
) -> None:
    question = page(admin.post(SETTINGS, sign_in_form(company, client_id="another")))
    assert "<strong>1 person</strong> is connected" in question
    assert makers.count(CompanyIdentity, acme) == 1
    assert noor.get("/memory/").status_code == 200
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', question)
    form = {name: unescape(value) for name, value in hidden}
    assert admin.post(SETTINGS, form).status_code == 302
    assert makers.count(CompanyIdentity, acme) == 0
    assert noor.get("/memory/").status_code == 302
    row = makers.get(CompanySignIn, acme)
    assert (row.client_id, row.role_by_group["board"], row.is_active) == ("another", "admin", True)
    assert not row.checks_second_factor


def test_a_removed_member_does_not_return_through_the_provider(
    company: IdentityProvider, noor: Client, admin: Client, acme: Account
) -> None:
    member = makers.get(Membership, acme, user__email="noor@acme.test")
    assert admin.post(f"/members/{member.pk}/remove/").status_code == 302
    assert noor.get("/memory/").status_code == 403
    assert company.sign_in(Client(), "noor").status_code == 403
    assert not makers.rows(Membership, acme, user=member.user)


def test_a_member_removed_during_a_sign_in_does_not_return(
    company: IdentityProvider, noor: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove_meanwhile(person: User) -> bool:
        """Remove the person after their identity was read, and before their membership is."""
        for member in Membership.objects.of(acme).filter(user=person):
            remove_and_disconnect(member, actor=SYSTEM)
        return False

    monkeypatch.setattr(User, "manages_installation", property(remove_meanwhile))
    assert company.sign_in(Client(), "noor").status_code == 403


def test_another_issuer_needs_its_own_secret(company: IdentityProvider, admin: Client) -> None:
    form = sign_in_form(company, issuer=f"{company.url}/elsewhere", client_secret="")
    assert "Enter the client secret for this issuer." in page(admin.post(SETTINGS, form), 422)


@pytest.mark.parametrize("text", ["x-----", "-----BEGIN CERTIFICATE-----", "AAAA", ""])
def test_malformed_certificate_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of several libraries
        parse_certificate(text)
