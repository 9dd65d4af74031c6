"""Company sign-in with OpenID Connect, against a real provider on loopback (ASVS 10)."""

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.contrib.auth import SESSION_KEY
from django.test import Client
from pytest_django import Settings

from kmapp.accounts.company_sign_in.models import CompanyIdentity, CompanySignIn
from kmapp.accounts.models import Account, Membership, User
from kmapp.database.encryption import decrypt_text
from kmapp.ledger.models import Commit, Note
from tests import makers
from tests.identity_provider import FROM_OWN_PAGE, SECRET, IdentityProvider, identity_provider
from tests.web.company_pages import SETTINGS, START, connect, sign_in_form
from tests.web.pages import html, page

REFUSED: dict[str, dict[str, Any]] = {
    "not verified": {"email_verified": False},
    "address is not one of": {"email": "noor@elsewhere.test"},
    "in no group": {"groups": ["kitchen"]},
}


def test_admin_sets_it_up_in_the_ledger(
    admin: Client, reviewer: Client, acme: Account, identities: IdentityProvider, settings: Settings
) -> None:
    settings.SIGN_IN_PRIVATE = []
    assert "SIGN_IN_HOSTS" in page(admin.get(SETTINGS))
    settings.SIGN_IN_PRIVATE = ["login.test:8443"]
    text = page(admin.post(SETTINGS, sign_in_form(identities)), 422)
    assert makers.missing(text, "could not be reached", "login.test:8443") == []
    settings.SIGN_IN_PRIVATE = [identities.netloc]
    wrong = sign_in_form(
        identities, email_domains="acme", groups_viewer="it", client_secret="", allows_password=""
    )
    expected = ("domains such as", "one role", "sign in through the company yourself")
    text = page(admin.post(SETTINGS, wrong), 422)
    assert makers.missing(text, *expected[:2], "This field is required") == []
    lockout = page(admin.post(SETTINGS, sign_in_form(identities, allows_password="")), 422)
    assert expected[2] in lockout
    other = sign_in_form(identities, issuer=f"{identities.url}/elsewhere")
    assert "No OpenID Connect provider" in page(admin.post(SETTINGS, other), 422)
    assert reviewer.post(SETTINGS, sign_in_form(identities)).status_code == 403
    assert makers.count(CompanySignIn, acme) == 0
    assert admin.post(SETTINGS, sign_in_form(identities)).status_code == 302
    row = makers.get(CompanySignIn, acme)
    assert (row.issuer, decrypt_text(row.client_secret)) == (identities.url, SECRET)
    assert row.role_by_group == {"it": "admin", "board": "admin", "staff": "reviewer"}
    text = page(admin.get(SETTINGS))
    assert makers.missing(text, "http://testserver/sign-in/company/acme/back/", "board\nit") == []
    assert SECRET not in text
    assert (
        admin.post(SETTINGS, sign_in_form(identities, client_secret="", is_listed="")).status_code
        == 302
    )
    notes = makers.rows(Note, acme, input__company_sign_in__isnull=False)
    last = max(notes, key=lambda note: note.commit_id)  # these ids begin with their time
    assert last.input == {"company_sign_in": {"is_listed": {"before": True, "after": False}}}
    assert SECRET not in str([note.input for note in notes])
    assert "Acme &amp; Co" not in page(Client().get("/sign-in/")), "it is not listed"
    assert admin.post(f"{SETTINGS}delete/").status_code == 302
    assert Client().get(START).status_code == 404


def test_provider_that_nobody_has_tried_does_not_become_mandatory(
    company: IdentityProvider, admin: Client
) -> None:
    def refuses(**more: str) -> bool:
        form = sign_in_form(company, client_secret="", allows_password="", **more)
        return "sign in through the company yourself" in page(admin.post(SETTINGS, form), 422)

    inactive = sign_in_form(company, client_secret="", allows_password="", is_active="")
    assert admin.post(SETTINGS, inactive).status_code == 302
    assert refuses(), "it becomes active and mandatory at once"
    assert admin.post(SETTINGS, sign_in_form(company, client_secret="")).status_code == 302
    company.put("ada", groups=["it"])
    assert connect(company, admin, "ada").status_code == 302
    assert refuses(client_id="another")
    another = sign_in_form(company, client_id="another", client_secret="", count="1")
    assert admin.post(SETTINGS, another).status_code == 302
    assert refuses(client_id="another"), "she came from the former one"


def test_change_of_someone_else_is_replaced_by_saving_again(
    company: IdentityProvider, admin: Client, acme: Account
) -> None:
    opened = makers.get(CompanySignIn, acme).commit_id
    assert f'value="{opened}"' in page(admin.get(SETTINGS))
    form = sign_in_form(company, client_secret="", commit_id=str(opened))
    assert admin.post(SETTINGS, {**form, "groups_viewer": "kitchen"}).status_code == 302
    form["name"] = "Acme Ltd"
    assert "Someone else changed this" in page(admin.post(SETTINGS, form), 422)
    row = makers.get(CompanySignIn, acme)
    assert row.role_by_group["kitchen"] == "viewer"
    form["commit_id"] = str(row.commit_id)
    assert admin.post(SETTINGS, form).status_code == 302
    assert makers.get(CompanySignIn, acme).name == "Acme Ltd"
    opened_before = {**form, "name": "Acme Inc", "commit_id": ""}
    assert "Someone else changed this" in page(admin.post(SETTINGS, opened_before), 422)


def test_first_sign_in_creates_a_member_and_the_next_one_changes_the_role(
    company: IdentityProvider, acme: Account
) -> None:
    company.put("noor", groups=["staff", "kitchen"])
    client = Client()
    assert f'href="{START}?next=%2Fmemory%2F"' in page(client.get("/sign-in/?next=/memory/"))
    started = client.get(START, {"next": "/memory/"}, headers=FROM_OWN_PAGE)
    query = dict(parse_qsl(urlsplit(started.headers["Location"]).query))
    assert makers.missing(query["scope"], "openid", "email") == []
    assert query["redirect_uri"] == f"http://testserver{START}back/"
    answer = client.get(company.authorize(started.headers["Location"], "noor"))
    assert answer.headers["Location"] == "/memory/"
    [exchange] = company.token_requests
    digest = sha256(exchange["code_verifier"].encode()).digest()
    assert query["code_challenge"] == urlsafe_b64encode(digest).decode().rstrip("=")
    assert exchange["auth"].startswith("Basic ")
    user = User.objects.get(email="noor@acme.test")
    assert client.session[SESSION_KEY] == str(user.pk)
    assert (user.first_name, user.has_usable_password()) == ("Noor", False)
    assert makers.get(Membership, acme, user=user).role == "reviewer"
    assert "Memory" in page(client.get("/memory/"))
    commits = makers.count(Commit, acme)
    company.sign_in(Client(), "noor")
    assert makers.count(Commit, acme) == commits, "nothing has changed"
    company.put("noor", groups=["staff", "it"], email="noor@acme.example")
    company.sign_in(Client(), "noor")
    assert makers.get(Membership, acme, user=user).role == "admin", "the subject is the person"
    reasons = makers.rows(Note, acme, reason="company sign-in")
    assert len(reasons) == 3  # the identity, the membership, the role
    company.put("noor", groups=["kitchen"])
    assert "in no group of Acme &amp; Co" in page(company.sign_in(Client(), "noor"), 403)
    assert not makers.rows(Membership, acme, user=user)
    assert client.get("/memory/").status_code == 403, "earlier sessions lose the access too"


def test_last_admin_keeps_the_role(company: IdentityProvider, acme: Account, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(has_initial_password=True, email="ada@acme.test")
    company.put("ada", groups=["staff"])
    assert company.sign_in(Client(), "ada").status_code == 302
    assert makers.get(Membership, acme, user=ada).role == "admin"
    company.put("ada", groups=[])
    assert company.sign_in(Client(), "ada").status_code == 403
    assert makers.get(Membership, acme, user=ada).role == "admin"


def test_people_without_access_are_refused(company: IdentityProvider, acme: Account) -> None:
    for text, claims in REFUSED.items():
        company.put("noor", **({"groups": ["it"]} | claims))
        client = Client()
        assert text in page(company.sign_in(client, "noor"), 403)
        assert SESSION_KEY not in client.session
    makers.update(CompanySignIn, acme, {}, creates_logins=False)
    company.put("noor", groups=["it"])
    assert "no login yet" in page(company.sign_in(Client(), "noor"), 403)
    assert not User.objects.filter(email__startswith="noor@").exists()
    assert makers.count(CompanyIdentity, acme) == 0


def test_response_counts_only_for_the_sign_in_that_was_started(
    company: IdentityProvider, reviewer: Client
) -> None:
    company.put("noor", groups=["it"])

    def answer(change: Any = None, **query: str) -> str:
        client = Client()
        address = client.get(START, headers=FROM_OWN_PAGE).headers["Location"]
        back = urlsplit(company.authorize(address, "noor"))
        session = client.session
        if change:
            change(session["company_started"])
            session.save()
        sent = dict(parse_qsl(back.query)) | query
        response = client.get(f"{back.path}?{urlencode(sent)}")
        again = client.get(f"{back.path}?{urlencode(sent)}")
        assert "has expired" in page(again, 400), "a response counts once"
        assert SESSION_KEY not in client.session
        return page(response, 400)

    assert "has expired" in answer(state="of-another")
    assert "has expired" in answer(lambda stored: stored.update(at=stored["at"] - 601))
    assert "has expired" in answer(lambda stored: stored.update(slug="rival"))
    assert "cannot trust" in answer(lambda stored: stored["secrets"].update(nonce="another"))
    assert "cannot trust" in answer(code="of-another")
    assert "cannot trust" in answer(iss="https://issuer.test")
    back = company.authorize(Client().get(START, headers=FROM_OWN_PAGE).headers["Location"], "noor")
    assert "has expired" in page(reviewer.get(back), 400), "begun in another browser"
    client = Client()
    started = client.get(START, headers=FROM_OWN_PAGE)
    denied = company.authorize(started.headers["Location"], "noor", action="deny")
    state = client.session["company_started"]["secrets"]["state"]
    assert "Sign-in cancelled" in page(client.get(f"{denied}&state={state}"), 400)


@pytest.mark.parametrize("headers", [{"sec-fetch-site": "cross-site"}, {}])
def test_sign_in_started_by_another_site_asks_for_confirmation(
    company: IdentityProvider, headers: dict[str, str]
) -> None:
    visitor, expected = Client(headers=headers), "Continue if you want to sign in"
    question = page(visitor.get(START))
    assert expected in question
    link = question.split(f'href="{START}?', 1)[1].split('"', 1)[0].replace("&amp;", "&")
    assert expected in page(Client().get(f"{START}?{link}")), "a link for another session"
    assert visitor.get(f"{START}?{link}").status_code == 302


def test_provider_that_is_down_is_reported_in_both_languages(
    company: IdentityProvider, acme: Account
) -> None:
    with identity_provider() as gone:
        pass
    makers.update(CompanySignIn, acme, {}, issuer=gone.url)
    answer = Client().get(START, headers=FROM_OWN_PAGE)
    assert "could not be reached" in page(answer, 503), "the host is not allowed"
    chinese = Client(headers={"accept-language": "zh-hans"})
    assert "Acme &amp; Co" in page(chinese.get(START, headers=FROM_OWN_PAGE), 503)
    assert "could not be reached" not in html(chinese.get(START, headers=FROM_OWN_PAGE))
