"""Password reset by e-mail, guessable passwords, and the mail server's settings."""

import re
from typing import Any

import pytest
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.password_validation import validate_password
from django.core import mail
from django.core.exceptions import ValidationError
from django.test import Client

from kmapp.accounts.models import Account, User
from tests import makers
from tests.fresh_settings import load_settings
from tests.makers import PASSWORD
from tests.web.pages import html

NEW = "seven blue kettles sing"


def request_link(client: Client, address: str) -> str:
    """Ask for a link and return it from the message."""
    answer = client.post("/password/reset/", {"email": address})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/password/reset/sent/")
    [message] = mail.outbox
    mail.outbox.clear()
    [link] = re.findall(r"http://testserver(/password/reset/\S+)", str(message.body))
    return str(link)


def open_form(client: Client, link: str) -> str:
    """Open a link; return the address of the form, which does not contain the token."""
    answer = client.get(link)
    form = answer.headers["Location"]
    assert form.endswith("/set-password/")
    assert "New password" in html(client.get(form))
    return str(form)


def test_person_resets_a_forgotten_password(
    client: Client, alice: User, django_capture_on_commit_callbacks: Any
) -> None:
    elsewhere = makers.signed_in(alice)
    form = open_form(client, request_link(client, "ALICE@example.test"))
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(form, {"password1": NEW, "password2": NEW})
    assert answer.headers["Location"] == "/password/reset/done/"
    assert SESSION_KEY not in client.session, "the link is no sign-in"
    assert elsewhere.get("/").status_code == 302, "other sessions end"
    assert client.login(username="alice", password=NEW)
    [message] = mail.outbox
    assert message.to == ["alice@example.test"]
    assert "127.0.0.1" in message.body


def test_link_works_once(client: Client, alice: User) -> None:
    link = request_link(client, alice.email)
    client.post(open_form(client, link), {"password1": NEW, "password2": NEW})
    assert "no longer works" in html(client.get(link))


def test_link_leads_to_the_public_address(client: Client, alice: User, settings: Any) -> None:
    """Whoever asks for the link chooses the Host header of the request."""
    settings.HAS_PUBLIC_URL, settings.PUBLIC_URL = True, "https://kb.example.test"
    client.post("/password/reset/", {"email": alice.email}, headers={"host": "evil.test"})
    [message] = mail.outbox
    assert re.findall(r"\S+/password/reset/", str(message.body)) == [
        "https://kb.example.test/password/reset/"
    ]


def test_link_expires(client: Client, alice: User, settings: Any) -> None:
    link = request_link(client, alice.email)
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert "no longer works" in html(client.get(link))
    form = re.sub(r"[^/]+/$", "set-password/", link)
    client.post(form, {"password1": NEW, "password2": NEW})
    assert User.objects.get(pk=alice.pk).check_password(PASSWORD)


def test_unknown_address_gets_the_same_answer(client: Client, alice: User) -> None:
    answers = [client.post("/password/reset/", {"email": e}) for e in (alice.email, "no@one.test")]
    assert len({(answer.status_code, answer.headers["Location"]) for answer in answers}) == 1
    assert [message.to for message in mail.outbox] == [[alice.email], ["no@one.test"]]
    assert "/password/reset/" not in mail.outbox[1].body


def test_former_address_gets_no_link(client: Client, alice: User) -> None:
    request_link(client, "alice@example.test")
    User.objects.filter(pk=alice.pk).update(email="alice@new.test")
    client.post("/password/reset/", {"email": "alice@example.test"})
    [message] = mail.outbox
    assert "no user has this address" in message.body


def test_stored_address_may_have_capitals(client: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="Alice@Example.test")
    assert open_form(client, request_link(client, "alice@example.test"))


def test_deactivated_user_gets_no_link(client: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)
    client.post("/password/reset/", {"email": alice.email})
    assert "/password/reset/" not in mail.outbox[0].body


def test_weak_new_password_is_refused(client: Client, alice: User) -> None:
    form = open_form(client, request_link(client, alice.email))
    answer = client.post(form, {"password1": "password1234567", "password2": "password1234567"})
    assert answer.status_code == 422
    assert "easy to guess" in html(answer)


def test_requests_are_limited_by_client_address(client: Client, alice: User, settings: Any) -> None:
    """One address behind a proxy is refused; another address of the same proxy is not."""
    settings.NUM_PROXIES = 1
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": 1}
    settings.ACCOUNT_RATE_LIMITS = {"reset_password": "3/m/ip"}

    def ask(address: str) -> Any:
        forged = f"198.51.100.{len(mail.outbox)}, {address}"
        return client.post(
            "/password/reset/", {"email": alice.email}, headers={"X-Forwarded-For": forged}
        )

    assert [ask("203.0.113.9").status_code for _ in range(4)] == [302, 302, 302, 429]
    assert int(ask("203.0.113.9").headers["Retry-After"]) > 0
    assert ask("203.0.113.10").status_code == 302


def test_mail_server_that_fails_is_reported(client: Client, alice: User, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    answer = client.post("/password/reset/", {"email": alice.email})
    assert answer.status_code == 503
    assert "could not be sent" in html(answer)


def test_password_change_is_notified_even_without_mail_server(
    reviewer: Client, alice: User, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    body = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    with django_capture_on_commit_callbacks(execute=True):
        assert reviewer.post("/password/", body).status_code == 302
    assert [message.to for message in mail.outbox] == [[alice.email]]
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    body = {"old_password": NEW, "new_password1": PASSWORD, "new_password2": PASSWORD}
    with django_capture_on_commit_callbacks(execute=True):
        assert reviewer.post("/password/", body).status_code == 302


@pytest.mark.parametrize(
    "password",
    ["password1234567", "iloveyouforever", "qwertyuiop123", "Passw0rd!Passw0rd!", "letmeinletmein"],
)
def test_leaked_passwords_are_refused(password: str) -> None:
    with pytest.raises(ValidationError, match="easy to guess"):
        validate_password(password)


def test_words_of_the_context_are_refused(acme: Account) -> None:
    account = makers.account("Zorblax Teas")
    user = makers.member(account, "wilhelmina", role="editor")
    for password in ("zorblax teas 26", "wilhelmina1wilhelmina", "kmapp-kmapp-kmapp"):
        with pytest.raises(ValidationError):
            validate_password(password, user)
    validate_password("zorblax teas 26")  # means nothing to anyone else
    validate_password(NEW, user)


def test_mail_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings()["EMAIL_BACKEND"].endswith("console.EmailBackend")
    monkeypatch.setenv("EMAIL_HOST", "mail.example.org")
    monkeypatch.setenv("EMAIL_USE_SSL", "True")
    monkeypatch.setenv("PUBLIC_URL", "https://kb.example.org/")
    sends = load_settings()
    assert sends["EMAIL_BACKEND"].endswith("smtp.EmailBackend")
    assert (sends["EMAIL_USE_SSL"], sends["EMAIL_USE_TLS"]) == (True, False)
    assert (sends["PUBLIC_URL"], sends["HAS_PUBLIC_URL"]) == ("https://kb.example.org", True)
