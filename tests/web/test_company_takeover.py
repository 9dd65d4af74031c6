"""What a company's provider cannot do: take over logins, open other accounts (ASVS 10.3, 8.4.1)."""

import pytest
from django.contrib.auth import SESSION_KEY
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.company_sign_in.models import CompanyIdentity, CompanySignIn
from kmapp.accounts.invitations import sign_link
from kmapp.accounts.models import Account, Membership, User
from kmapp.accounts.second_factor import require_second_factor
from kmapp.web.models import Session
from tests import makers
from tests.identity_provider import IdentityProvider
from tests.makers import PASSWORD
from tests.web.company_pages import SETTINGS, START, connect, sign_in_form
from tests.web.pages import HTMX, page
from tests.web.test_password_reset import NEW, open_form, request_link
from tests.web.totp import add_app, freeze


def test_statements_of_a_provider_take_over_no_login(
    company: IdentityProvider, acme: Account, rival: Account, alice: User
) -> None:
    """The admin of Acme controls its provider, and states the addresses of other people."""
    boss = makers.member(rival, "boss", role="admin")
    owner = makers.member(acme, "owner", role="admin")
    User.objects.filter(pk=owner.pk).update(is_superuser=True, has_initial_password=True)
    guest = makers.member(rival, "guest", role="editor")
    User.objects.filter(pk=guest.pk).update(has_initial_password=True)
    with acting(acme):
        add_member(account_id=acme.pk, user=guest, role="viewer", actor=SYSTEM)
    makers.update(CompanySignIn, acme, {}, email_domains=["example.test"])
    for victim in (alice, boss, owner, guest):
        company.put("evil", email=victim.email.upper(), groups=["it"])
        client = Client()
        assert "Connect your login first" in page(company.sign_in(client, "evil"), 403)
        assert SESSION_KEY not in client.session
    assert makers.count(CompanyIdentity, acme) == 0
    assert not makers.rows(Membership, acme, user=boss)


def test_person_connects_a_login_which_then_opens_this_account_only(
    company: IdentityProvider, acme: Account, rival: Account, alice: User, reviewer: Client
) -> None:
    with acting(rival):
        add_member(account_id=rival.pk, user=alice, role="admin", actor=SYSTEM)
    company.put("al", email="al@acme.test", groups=["staff"])
    forged = page(reviewer.get(START, {"confirmation": "forged"}))
    assert "This connects your login alice@example.test" in forged
    assert connect(company, reviewer, "al").headers["Location"] == "/"
    assert makers.get(Membership, acme, user=alice).role == "reviewer"
    assert "Rival" in page(reviewer.get("/")), "her own session still opens all accounts"
    company.put("el", groups=["staff"])
    assert "another login" in page(connect(company, reviewer, "el"), 409)

    client = Client()
    assert company.sign_in(client, "al").status_code == 302
    assert client.session[SESSION_KEY] == str(alice.pk)
    assert "Rival" not in page(client.get("/"))
    assert client.post("/account/", {"account": str(rival.pk)}).status_code == 404
    session = client.session
    session["account"] = str(rival.pk)
    session.save()
    assert "Rival" not in page(client.get("/"))
    closed = ("/security/", "/password/", "/security/app/add/", "/security/passkeys/add/")
    for path in (*closed, "/confirm/password/", "/security/recovery-codes/"):
        assert "which opens one account" in page(client.get(path), 403), path
    invitation = sign_link(makers.invitation(makers.account("Third"), alice.email))
    assert "Sign out, then open" in page(client.get(f"/invitation/{invitation}/"))
    assert "Sign out, then open" not in page(reviewer.get(f"/invitation/{invitation}/"))
    other = client.get("/sign-in/company/acme/")
    assert other.headers["Location"] == "/"
    User.objects.filter(pk=alice.pk).update(is_superuser=True)
    assert client.get("/").status_code == 403, "the owner of the installation"
    assert client.get("/admin/").status_code == 403
    assert "The owner of this installation" in page(company.sign_in(Client(), "al"), 403)
    User.objects.filter(pk=alice.pk).update(is_superuser=False)

    path = "/security/company/disconnect/"
    assert f'href="{path}"' in page(reviewer.get("/security/"))
    assert "can connect your login again" in page(reviewer.get(path))
    assert makers.count(CompanyIdentity, acme) == 1, "the page only asks"
    assert reviewer.post(path).status_code == 302
    assert makers.count(CompanyIdentity, acme) == 0
    company.put("al", email="alice@acme.test", groups=["staff"])
    company.sign_in(Client(), "al")
    assert User.objects.filter(email="alice@acme.test").exists(), "another person to kmapp"


def test_login_that_joined_elsewhere_is_connected_by_its_person_only(
    company: IdentityProvider, rival: Account
) -> None:
    company.put("noor", groups=["staff"])
    client = Client()
    company.sign_in(client, "noor")
    noor = User.objects.get(email="noor@acme.test")
    assert client.get("/security/").status_code == 200, "the account's own login"
    with acting(rival):
        add_member(account_id=rival.pk, user=noor, role="admin", actor=SYSTEM)
    assert client.get("/security/").status_code == 403
    assert "Rival" not in page(client.get("/"))
    assert "Connect your login first" in page(company.sign_in(Client(), "noor"), 403)
    assert connect(company, makers.signed_in(noor), "noor").status_code == 302
    assert company.sign_in(Client(), "noor").status_code == 302, "she has connected it herself"


def test_login_of_the_provider_becomes_its_persons_own_by_e_mail(company: IdentityProvider) -> None:
    company.put("noor", groups=["staff"])
    company.sign_in(Client(), "noor")
    noor = User.objects.get(email="noor@acme.test")
    person = Client()
    form = open_form(person, request_link(person, "noor@acme.test"))
    person.post(form, {"password1": NEW, "password2": NEW})
    noor.refresh_from_db()
    assert (noor.has_initial_password, noor.has_usable_password()) == (False, True)
    client = Client()
    assert company.sign_in(client, "noor").status_code == 302
    assert client.get("/memory/").status_code == 200
    assert client.get("/security/").status_code == 403, "no longer the account's own login"


def test_account_can_require_company_sign_in_and_trust_its_second_factor(
    company: IdentityProvider,
    acme: Account,
    admin: Client,
    alice: User,
    reviewer: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    company.put("ada", groups=["it"])
    company.put("al", groups=["staff"])
    assert connect(company, admin, "ada").status_code == 302
    only = sign_in_form(company, client_secret="", allows_password="")
    assert admin.post(SETTINGS, only).status_code == 302, "it works for this admin"
    answer = reviewer.get("/memory/?kind=fact")
    assert answer.headers["Location"] == f"{START}?next=%2Fmemory%2F%3Fkind%3Dfact"
    assert "opens only after company sign-in" in page(reviewer.get(answer.headers["Location"]))
    assert reviewer.post("/search/save/").headers["Location"] == f"{START}?next=%2F"
    here = HTMX | {"HX-Current-URL": "http://testserver/review/?need=new"}
    polled = reviewer.get("/memory/summary/", headers=here)
    assert polled.headers["HX-Redirect"] == f"{START}?next=%2Freview%2F%3Fneed%3Dnew"
    assert connect(company, reviewer, "al").status_code == 302
    assert reviewer.get("/memory/").status_code == 200

    freeze(monkeypatch)
    password = Client()
    password.post("/sign-in/", {"username": alice.username, "password": PASSWORD})
    add_app(password)
    answer = company.sign_in(Client(), "al")
    assert answer.headers["Location"] == "/sign-in/second-factor/", "kmapp asks for its own"
    company.put("noor", groups=["staff"])
    noor = Client()
    company.sign_in(noor, "noor")
    with acting(acme):
        require_second_factor(acme.pk, required=True, actor=SYSTEM)
    assert noor.get("/memory/").headers["Location"] == "/security/"
    trusting = sign_in_form(
        company, client_secret="", allows_password="", checks_second_factor="on"
    )
    assert admin.post(SETTINGS, trusting).headers["Location"] == "/security/"
    makers.update(CompanySignIn, acme, {}, checks_second_factor=True)
    for subject in ("al", "noor"):
        client = Client()
        assert company.sign_in(client, subject).headers["Location"] == "/"
        assert client.get("/memory/").status_code == 200


def test_visits_that_create_a_session_are_limited(
    company: IdentityProvider, settings: Settings
) -> None:
    cache.clear()
    settings.THROTTLES = {**settings.THROTTLES, "sign_in": 1}
    client = Client()
    for _ in range(2):  # with the session of the first visit
        assert "Continue if you want to sign in" in page(client.get(START))
    sessions = Session.objects.count()
    assert Client().get(START).status_code == 429
    assert Session.objects.count() == sessions
    cache.clear()
