"""Authenticator apps, recovery codes, and accounts that require a second factor."""

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth import SESSION_KEY
from django.core import mail
from django.test import Client, override_settings
from structlog.testing import capture_logs

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, Membership, User
from kmapp.database.encryption import decrypt_text
from kmapp.ledger.models import Commit
from tests import makers
from tests.makers import PASSWORD
from tests.web.pages import HTMX, html, page
from tests.web.totp import add_app, code_of, freeze

ADD = "/security/app/add/"


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch) -> None:
    freeze(monkeypatch)


def sign_in(user: User, **more: str) -> tuple[Client, Any]:
    """Return a client and the answer to a correct password."""
    client = Client()
    body = {"username": user.username, "password": PASSWORD}
    return client, client.post("/sign-in/", body | more)


@pytest.fixture
def alice_client(alice: User) -> Client:
    """Return the client of Alice, who has just entered her password."""
    return sign_in(alice)[0]


def enter_code(client: Client, code: str) -> Any:
    return client.post("/sign-in/second-factor/", {"code": code})


def test_code_is_required_once_after_the_password(alice_client: Client, alice: User) -> None:
    alice_client.get(ADD)
    assert alice_client.post(ADD, {"code": "000000"}).status_code == 422
    assert not Authenticator.objects.filter(user=alice).exists()
    secret, _codes = add_app(alice_client)
    client, answer = sign_in(alice, next="/memory/")
    assert answer.headers["Location"] == "/sign-in/second-factor/"
    assert SESSION_KEY not in client.session
    assert client.get("/memory/").status_code == 302
    assert enter_code(client, "000000").status_code == 422
    assert enter_code(Client(), code_of(secret)).headers["Location"] == "/sign-in/"
    assert enter_code(client, code_of(secret)).headers["Location"] == "/memory/"
    assert client.session[SESSION_KEY] == str(alice.pk)
    assert enter_code(sign_in(alice)[0], code_of(secret)).status_code == 422, "a code works once"
    app = Authenticator.objects.get(user=alice, type="totp")
    codes = Authenticator.objects.get(user=alice, type="recovery_codes")
    assert secret not in str(app.data)
    assert decrypt_text(app.data["secret"]) == secret
    assert len(decrypt_text(codes.data["seed"])) == 80


def test_recovery_code_works_once_and_until_there_are_new_ones(
    alice_client: Client, alice: User
) -> None:
    _secret, codes = add_app(alice_client)
    for status in (302, 422):
        assert enter_code(sign_in(alice)[0], codes[0]).status_code == status
    assert "9 unused codes" in html(alice_client.get("/security/"))
    assert codes[1] not in html(alice_client.get("/security/recovery-codes/")), "shown only once"
    answer = alice_client.post("/security/recovery-codes/new/", follow=True)
    assert codes[1] not in html(answer)
    assert enter_code(sign_in(alice)[0], codes[1]).status_code == 422


def test_guesses_of_codes_are_limited_and_logged(alice_client: Client, alice: User) -> None:
    secret, _codes = add_app(alice_client)
    client, _answer = sign_in(alice)
    with capture_logs() as logs:
        for _ in range(5):
            enter_code(client, "000000")
        answer = enter_code(client, code_of(secret))
    assert answer.status_code == 422
    assert "Too many attempts" in html(answer)
    assert [log["event"] for log in logs].count("sign_in_failed") == 6


def test_change_needs_a_recent_password(reviewer: Client, alice: User) -> None:
    """A session left open for minutes cannot change how its person signs in."""
    answer = reviewer.get(ADD)
    assert answer.headers["Location"] == "/confirm/password/?next=%2Fsecurity%2Fapp%2Fadd%2F"
    confirm = answer.headers["Location"]
    assert reviewer.post(confirm, {"password": "guess"}).status_code == 422
    assert reviewer.post(confirm, {"password": PASSWORD}).headers["Location"] == ADD
    add_app(reviewer)


def test_first_factor_ends_other_sessions_and_is_notified(
    alice_client: Client, alice: User, django_capture_on_commit_callbacks: Any
) -> None:
    elsewhere = makers.signed_in(alice)
    with django_capture_on_commit_callbacks(execute=True):
        add_app(alice_client)
    assert elsewhere.get("/").status_code == 302
    assert alice_client.get("/").status_code == 200
    assert [message.to for message in mail.outbox] == [[alice.email]]


# --- Accounts that require a second factor --------------------------------------------------------


def require(admin: Client, required: str = "yes") -> None:
    answer = admin.post("/members/second-factor/", {"required": required})
    assert answer.headers["Location"] == "/members/"


def test_member_without_factor_is_led_to_add_one(
    admin: Client, alice_client: Client, acme: Account
) -> None:
    require(admin)
    for path in ("/", "/review/", "/members/", "/password/"):
        assert alice_client.get(path).headers["Location"] == "/security/", path
    assert alice_client.post("/preferences/", {"theme": "dark"}).status_code == 302
    assert alice_client.get("/", headers=HTMX).headers["HX-Redirect"] == "/security/"
    assert "requires a second factor" in html(alice_client.get("/security/"))
    add_app(alice_client)
    assert alice_client.get("/").status_code == 200


def test_required_factor_cannot_be_removed(alice_client: Client, alice: User, ada: User) -> None:
    admin, _answer = sign_in(ada)
    add_app(admin)
    add_app(alice_client)
    require(admin)
    assert "requires a second factor" in html(alice_client.get("/security/app/remove/"))
    assert alice_client.post("/security/app/remove/").status_code == 422
    assert Authenticator.objects.filter(user=alice, type="totp").exists()
    require(admin, "no")
    assert alice_client.post("/security/app/remove/").status_code == 302
    assert sign_in(alice)[1].headers["Location"] == "/"


def test_requirement_applies_to_its_account_only(
    admin: Client, alice_client: Client, alice: User, rival: Account
) -> None:
    with acting(rival):
        add_member(account_id=rival.pk, user=alice, role="editor", actor=SYSTEM)
    require(admin)
    assert alice_client.get("/").status_code == 302
    assert alice_client.post("/account/", {"account": str(rival.pk)}).status_code == 302
    assert alice_client.get("/").status_code == 200


def test_requirement_is_in_the_ledger_and_holds_for_the_admin(
    admin: Client, ada: User, acme: Account
) -> None:
    require(admin)
    commit = max(makers.rows(Commit, acme), key=lambda each: each.seq)
    assert commit.actor == f"user:{ada.pk}"
    assert [(change["object"], change["op"]) for change in commit.diff] == [
        (f"accounts.account:{acme.pk}", "UPDATE")
    ]
    before = makers.count(Commit, acme)
    form = {"required": "no"}
    Client().post("/members/second-factor/", form)
    assert admin.post("/members/second-factor/", form).headers["Location"] == "/security/"
    assert makers.count(Commit, acme) == before
    assert makers.get(Account, acme, pk=acme.pk).require_second_factor


# --- A lost device --------------------------------------------------------------------------------


def test_admin_removes_a_lost_factor(
    admin: Client,
    alice_client: Client,
    alice: User,
    acme: Account,
    django_capture_on_commit_callbacks: Any,
) -> None:
    add_app(alice_client)
    assert "<strong>1 of 2</strong>" in html(admin.get("/members/second-factor/"))
    member = makers.get(Membership, acme, user=alice)
    assert admin.get(f"/members/{member.pk}/second-factor/").status_code == 200
    with django_capture_on_commit_callbacks(execute=True):
        assert admin.post(f"/members/{member.pk}/second-factor/").status_code == 302
    assert alice_client.get("/").status_code == 302, "sessions end"
    assert sign_in(alice)[1].headers["Location"] == "/"
    assert mail.outbox[-1].to == [alice.email]
    assert makers.get(Membership, acme, pk=member.pk).commit_id != member.commit_id


def test_own_factor_is_removed_only_after_the_password(ada: User, acme: Account) -> None:
    admin, _answer = sign_in(ada)
    add_app(admin)
    path = f"/members/{makers.get(Membership, acme, user=ada).pk}/second-factor/"
    for answer in (admin.get(path), admin.post(path)):
        assert answer.headers["Location"] == "/security/"
    assert Authenticator.objects.filter(user=ada, type="totp").exists()


def test_removal_is_notified_in_the_language_of_the_person(
    admin: Client,
    alice_client: Client,
    alice: User,
    acme: Account,
    django_capture_on_commit_callbacks: Any,
) -> None:
    add_app(alice_client)
    User.objects.filter(pk=alice.pk).update(language="zh-hans")
    member = makers.get(Membership, acme, user=alice)
    with django_capture_on_commit_callbacks(execute=True):
        admin.post(f"/members/{member.pk}/second-factor/")
    assert "管理员移除了您的两步验证" in mail.outbox[-1].body


def test_factor_encrypted_with_a_lost_secret_key_is_explained(
    alice_client: Client, alice: User
) -> None:
    secret, codes = add_app(alice_client)
    with override_settings(SECRET_KEY="new", SECRET_KEY_FALLBACKS=[]):
        client, _answer = sign_in(alice)
        for code in (code_of(secret), codes[0]):
            assert "ask an admin to remove" in page(enter_code(client, code), 409)
        assert "0 unused codes" in page(makers.signed_in(alice).get("/security/"))


def test_admin_of_one_account_keeps_off_other_logins(
    admin: Client, alice_client: Client, alice: User, acme: Account, rival: Account
) -> None:
    """The removal of a person's second factor weakens all accounts of this person."""
    add_app(alice_client)
    with acting(rival):
        add_member(account_id=rival.pk, user=alice, role="editor", actor=SYSTEM)
    member = makers.get(Membership, acme, user=alice)
    assert admin.post(f"/members/{member.pk}/second-factor/").status_code == 403
    assert Authenticator.objects.filter(user=alice, type="totp").exists()


@pytest.mark.parametrize("right", ["is_superuser", "is_staff"])
def test_factor_of_the_owner_is_removed_by_a_superuser_only(
    admin: Client, ada: User, alice_client: Client, alice: User, acme: Account, right: str
) -> None:
    add_app(alice_client)
    path = f"/members/{makers.get(Membership, acme, user=alice).pk}/second-factor/"
    assert path in html(admin.get("/members/"))
    User.objects.filter(pk=alice.pk).update(**{right: True})
    assert path not in html(admin.get("/members/"))
    assert [admin.get(path).status_code, admin.post(path).status_code] == [403, 403]
    assert Authenticator.objects.filter(user=alice, type="totp").exists()
    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    assert path in html(admin.get("/members/"))
    assert admin.post(path).status_code == 302


def test_django_admin_does_not_show_logins(superuser: Client) -> None:
    for path in ("/admin/mfa/authenticator/", "/admin/account/emailaddress/"):
        assert superuser.get(path).status_code == 404
