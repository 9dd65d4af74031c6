"""Invitations by e-mail: sending, accepting with and without a login, and refusals."""

import re
from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth import SESSION_KEY
from django.core import mail
from django.test import Client
from django.utils import timezone

from kmapp.accounts.account_administration import archive_account
from kmapp.accounts.acting import acting, current_account_id
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.invitations import accept_invitation
from kmapp.accounts.models import Account, Invitation, Membership, User
from kmapp.errors import Conflict
from kmapp.ledger.models import Commit
from kmapp.web.identity.account_adapter import AccountAdapter
from tests import makers
from tests.makers import PASSWORD
from tests.web.pages import html, page
from tests.web.test_password_reset import request_link

ADDRESS = "noor@example.test"
LOGIN = {"name": "Noor", "new_password1": PASSWORD, "new_password2": PASSWORD}


def invite(admin: Client, email: str = ADDRESS, role: str = "reviewer") -> str:
    """Send an invitation and return the link of its message."""
    form = {"email": email, "role": role, "language": "en"}
    answer = admin.post("/members/invitations/new/", form)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/members/")
    return read_link()


def read_link() -> str:
    message = mail.outbox.pop()
    assert mail.outbox == []
    [link] = re.findall(r"http://testserver(/invitation/\S+)", str(message.body))
    return str(link)


def is_void(link: str) -> bool:
    return "no longer works" in page(Client().get(link), 404)


def test_new_person_joins_with_a_login_of_their_own(admin: Client, acme: Account) -> None:
    link = invite(admin)
    assert ADDRESS in html(admin.get("/members/"))
    guest = Client()
    assert makers.missing(page(guest.get(link)), "Join Acme", ADDRESS) == []
    weak = {"new_password1": "password1234", "new_password2": "password1234"}
    assert "too common" in page(guest.post(link, LOGIN | weak), 422)
    answer = guest.post(link, LOGIN)
    assert answer.headers["Location"] == "/"
    assert "You are now a member of Acme" in page(guest.get("/"))
    user = User.objects.get(email=ADDRESS)
    assert (user.first_name, guest.session[SESSION_KEY]) == ("Noor", str(user.pk))
    assert makers.get(Membership, acme, user=user).role == "reviewer"
    assert is_void(link), "the link works once"
    assert makers.count(Invitation, acme, accepted_at=None) == 0
    last = max(makers.rows(Commit, acme), key=lambda each: each.seq)
    assert last.actor == f"user:{user.pk}"
    assert sorted(change["op"] for change in last.diff) == ["ADD", "UPDATE"]


def test_existing_person_signs_in_and_joins(admin: Client, acme: Account, rival: Account) -> None:
    rita = makers.member(rival, "rita", role="editor")
    client, other = makers.signed_in(rita), invite(admin)
    assert "Sign out, then open the link again" in page(client.post(other)), "not invited by it"
    assert not User.objects.filter(email=ADDRESS).exists()
    assert makers.count(Membership, acme) == 1
    link = invite(admin, email="Rita@example.test", role="viewer")
    text = page(Client().get(link))
    assert f"/sign-in/?next={link.replace(':', '%3A').replace('/', '%2F')}" in text
    answer = client.post(link, follow=True)
    assert "You are now a member of Acme" in page(answer)
    assert "Acme" in html(client.get("/"))
    assert makers.get(Membership, acme, user=rita).role == "viewer"


def test_password_of_another_admin_gives_no_access(
    admin: Client, acme: Account, rival: Account
) -> None:
    """The admin of another account created the login, and may still know its password."""
    other = makers.signed_in(makers.member(rival, "rita", role="admin"))
    form = {"email": ADDRESS, "name": "Noor", "role": "viewer", "password": PASSWORD}
    assert other.post("/members/new/", form).status_code == 302
    noor = User.objects.get(email=ADDRESS)
    Authenticator.objects.create(user=noor, type="webauthn", data={})
    link = invite(admin)
    assert "Reset it by e-mail" in page(makers.signed_in(noor).post(link))
    assert makers.count(Membership, acme) == 1

    client = makers.signed_in(noor)
    assert client.get("/password/reset/").status_code == 200
    answer = client.get(request_link(client, ADDRESS))
    new = "seven blue kettles sing"
    client.post(answer.headers["Location"], {"password1": new, "password2": new})
    assert not Authenticator.objects.filter(user=noor).exists()
    noor.refresh_from_db()
    assert "You are now a member of Acme" in page(makers.signed_in(noor).post(link, follow=True))


def test_message_and_page_do_not_tell_whether_a_login_exists(admin: Client, rival: Account) -> None:
    makers.member(rival, "rita", role="editor")
    answers = []
    for email in ("rita@example.test", ADDRESS):
        answer = admin.post(
            "/members/invitations/new/",
            {"email": email, "role": "viewer", "language": "en"},
            follow=True,
        )
        token = re.compile(r"[\w-]+:[\w-]+:[\w-]+|[0-9a-f-]{36}|[A-Za-z0-9]{64}")
        message = str(mail.outbox.pop().body).replace(email, "who")
        text = page(answer).split("<table")[0].replace(email, "who")
        answers.append((token.sub("", message), token.sub("", text)))
    assert answers[0] == answers[1]


def test_message_is_in_the_chosen_language(admin: Client) -> None:
    form = {"email": ADDRESS, "role": "admin", "language": "zh-hans"}
    admin.post("/members/invitations/new/", form)
    message = mail.outbox.pop()
    assert "邀请" in message.subject
    assert makers.missing(str(message.body), "管理员", "Acme", "Ada", "/invitation/") == []


def test_link_leads_to_the_public_address(admin: Client, settings: Any) -> None:
    settings.HAS_PUBLIC_URL, settings.PUBLIC_URL = True, "https://kb.example.test"
    form = {"email": ADDRESS, "role": "viewer", "language": "en"}
    admin.post("/members/invitations/new/", form)
    assert "https://kb.example.test/invitation/" in str(mail.outbox.pop().body)


def test_revoked_replaced_expired_and_forged_links_do_not_work(
    admin: Client, acme: Account
) -> None:
    first = invite(admin)
    row = makers.get(Invitation, acme)
    assert admin.post(f"/members/invitations/{row.pk}/resend/").status_code == 302
    second = read_link()
    assert is_void(first)
    assert "Join Acme" in html(Client().get(second))
    assert is_void(second[:-2] + "x/")
    makers.update(Invitation, acme, {"pk": row.pk}, expires_at=timezone.now())
    assert is_void(second)
    assert admin.post(f"/members/invitations/{row.pk}/resend/").status_code == 302
    third = read_link()
    assert admin.post(f"/members/invitations/{row.pk}/revoke/").status_code == 302
    assert is_void(third)
    for act in ("resend", "revoke"):
        assert admin.post(f"/members/invitations/{row.pk}/{act}/").status_code == 409
    assert Client().post(third, LOGIN).status_code == 404
    assert not User.objects.filter(email=ADDRESS).exists()


def test_address_is_invited_once_for_a_week_and_members_are_not(
    admin: Client, acme: Account, rival: Account, alice: User
) -> None:
    link = invite(admin)
    row = makers.get(Invitation, acme)
    assert timedelta(days=7) - timedelta(minutes=5) < row.expires_at - timezone.now()
    form = {"email": ADDRESS.upper(), "role": "admin", "language": "en"}
    assert "already invited" in page(admin.post("/members/invitations/new/", form), 422)
    form["email"] = alice.email
    assert "already a member" in page(admin.post("/members/invitations/new/", form), 422)
    assert mail.outbox == []
    archive_account(acme.pk, actor=SYSTEM)
    assert is_void(link), "of an archived account"


@pytest.mark.parametrize(
    ("operation", "form"), [("remove", {}), ("role", {"role": "editor"})], ids=str
)
def test_former_admin_leaves_no_open_invitations(
    admin: Client, acme: Account, ada: User, operation: str, form: dict[str, str]
) -> None:
    other = makers.signed_in(makers.member(acme, "second", role="admin"))
    link = invite(admin)
    other_link = invite(other, "x@example.test")
    member = makers.get(Membership, acme, user=ada)
    assert other.post(f"/members/{member.pk}/{operation}/", form).status_code == 302
    assert is_void(link)
    assert Client().get(other_link).status_code == 200
    row = makers.get(Invitation, acme, email=ADDRESS)
    assert row.revoked_at
    sealed = {change["object"] for change in makers.get(Commit, acme, pk=row.commit_id).diff}
    assert sealed == {f"accounts.invitation:{row.pk}", f"accounts.membership:{member.pk}"}


def test_invitation_of_a_former_admin_that_was_not_revoked_does_not_work(
    admin: Client, acme: Account, ada: User, alice: User
) -> None:
    """It was created while the role of its sender changed, so the change did not revoke it."""
    link = invite(admin, role="admin")
    row = makers.get(Invitation, acme)
    makers.update(Membership, acme, {"user": ada}, role="editor")
    assert is_void(link)
    assert Client().post(link, LOGIN).status_code == 404
    with acting(acme), pytest.raises(Conflict):
        accept_invitation(row, alice)
    makers.update(Membership, acme, {"user": ada}, role="admin")
    assert Client().get(link).status_code == 200


def test_invitation_of_a_deactivated_admin_works_only_if_another_one_resends_it(
    admin: Client, acme: Account, ada: User, alice: User
) -> None:
    other = makers.signed_in(makers.member(acme, "second", role="admin"))
    link = invite(admin, role="admin")
    row = makers.get(Invitation, acme)
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert is_void(link)
    with acting(acme), pytest.raises(Conflict):
        accept_invitation(row, alice)
    assert other.post(f"/members/invitations/{row.pk}/resend/").status_code == 302
    assert "Join Acme" in html(Client().get(read_link()))


def test_messages_of_an_account_are_limited(admin: Client, settings: Any) -> None:
    settings.THROTTLES = settings.THROTTLES | {"invitation": 1}
    invite(admin)
    form = {"email": "x@example.test", "role": "viewer", "language": "en"}
    answer = admin.post("/members/invitations/new/", form)
    assert (answer.status_code, mail.outbox) == (429, [])
    assert int(answer.headers["Retry-After"]) > 0


def test_mail_server_that_fails_is_reported(admin: Client, acme: Account, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    form = {"email": ADDRESS, "role": "viewer", "language": "en"}
    answer = admin.post("/members/invitations/new/", form, follow=True)
    assert "the e-mail could not be sent" in page(answer)
    assert makers.count(Invitation, acme) == 1


def test_messages_are_sent_outside_of_transactions(
    admin: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts: list[Any] = []
    send = AccountAdapter.send_mail

    def send_and_record(*args: Any) -> None:
        accounts.append(current_account_id())
        send(*args)

    monkeypatch.setattr(AccountAdapter, "send_mail", send_and_record)
    invite(admin)
    row = makers.get(Invitation, acme)
    assert admin.post(f"/members/invitations/{row.pk}/resend/").status_code == 302
    assert accounts == [None, None]
