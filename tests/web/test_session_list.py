"""The list of one's own sessions, and how they end."""

import re
from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.test import Client, override_settings
from django.utils import timezone

from kmapp.accounts.models import User
from kmapp.web import sessions, tasks
from kmapp.web.models import Session
from kmapp.web.sessions import format_device
from tests.makers import PASSWORD
from tests.web.pages import html

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
EDGE = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/142.0 Safari/537.36 Edg/142.0"
)
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1"


def sign_in(user: User, agent: str = FIREFOX, address: str = "203.0.113.7") -> Client:
    client = Client(headers={"User-Agent": agent}, REMOTE_ADDR=address)
    client.post("/sign-in/", {"username": user.username, "password": PASSWORD})
    assert client.session[SESSION_KEY] == str(user.pk)
    return client


def listed(client: Client) -> list[str]:
    """Return the ids of the sessions that can be ended."""
    return re.findall(r'name="session" value="(\w+)"', html(client.get("/security/")))


def test_sessions_are_listed_with_device_and_address(alice: User) -> None:
    here = sign_in(alice)
    sign_in(alice, EDGE, "203.0.113.8")
    page = html(here.get("/security/"))
    assert page.index("Firefox · Linux") < page.index("This session") < page.index("Edge · Windows")
    assert page.index("203.0.113.7") < page.index("203.0.113.8")
    assert not any(row.session_key in page for row in Session.objects.all()), "no credentials"


def test_device_names() -> None:
    assert format_device(IPHONE) == "Safari · iPhone"
    assert format_device("curl/8") == ""


def test_one_session_or_all_others_are_ended(alice: User) -> None:
    here, there, third = (sign_in(alice) for _ in range(3))
    [first, _second] = listed(here)
    assert here.post("/security/sessions/end/", {"session": first}).status_code == 302
    assert sorted(client.get("/").status_code for client in (here, there, third)) == [200, 200, 302]
    assert here.get("/").status_code == 200
    assert here.post("/security/sessions/end/", {"session": first}).status_code == 404
    assert here.post("/security/sessions/end-others/").status_code == 302
    assert [client.get("/").status_code for client in (here, there, third)] == [200, 302, 302]
    assert Session.objects.filter(user=alice).count() == 1


def test_nobody_ends_sessions_of_others(alice: User, ada: User) -> None:
    alice_client, ada_client = sign_in(alice), sign_in(ada)
    sign_in(ada)
    [other] = listed(ada_client)
    assert alice_client.post("/security/sessions/end/", {"session": other}).status_code == 404
    alice_client.post("/security/sessions/end-others/")
    assert len(listed(ada_client)) == 1
    assert ada_client.get("/").status_code == 200


def test_expired_sessions_are_deleted(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "EXPIRED_BLOCK", 2)
    here = sign_in(alice)
    for seconds in (1, 60, 3600, 7200, 10**8):
        moment = timezone.now() - timedelta(seconds=seconds)
        Session.objects.create(session_key=f"old{seconds}", session_data="", expire_date=moment)
    assert tasks.delete_expired_sessions() == 5
    assert tasks.delete_expired_sessions() == 0
    assert Session.objects.get().user == alice
    assert here.get("/").status_code == 200
    scheduled = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert tasks.delete_expired_sessions.name in scheduled


def test_new_password_ends_other_sessions(alice: User) -> None:
    here, there = sign_in(alice), sign_in(alice)
    new = "seven blue kettles sing"
    body = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert here.post("/password/", body).status_code == 302
    assert [client.get("/").status_code for client in (here, there)] == [200, 302]
    assert listed(here) == []


def test_sessions_of_a_former_secret_key_are_listed(alice: User) -> None:
    there = sign_in(alice)
    with override_settings(SECRET_KEY="new", SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        here = sign_in(alice)
        [other] = listed(here)
        assert here.post("/security/sessions/end/", {"session": other}).status_code == 302
        assert there.get("/").status_code == 302


def test_sessions_with_an_old_password_are_not_listed(alice: User) -> None:
    """An operator's `changepassword` ends sessions without deleting their rows."""
    sign_in(alice)
    alice.set_password("seven blue kettles sing")
    alice.save()
    here = Client()
    here.force_login(alice)
    assert Session.objects.filter(user=alice).count() == 2
    assert listed(here) == []
