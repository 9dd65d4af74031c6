"""Sign-in, accounts, preferences, errors and security headers."""

import re
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.test import Client
from pytest_django import Settings
from structlog.testing import capture_logs

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from kmapp.api.errors import is_api
from kmapp.database.ids import uuid7
from tests.kernel.test_api_routes import ROUTES
from tests.makers import PASSWORD, missing
from tests.web.pages import HTMX, html, page
from tests.web.staff import staff

pytestmark = pytest.mark.urls("tests.web.urls")
POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "object-src 'none'",
}


# The view of every address of the product and of the stock admin.
VIEWS = {
    "/" + re.sub(r"<.*?>|\(.*", str(uuid7()), path.replace("<int:pk>", "1")): pattern.callback
    for path, pattern in ROUTES
}


def policy_of(answer: Any) -> set[str]:
    return set(answer.headers["Content-Security-Policy"].split("; "))


def test_sign_in_by_name_or_address(alice: User) -> None:
    form = {"password": PASSWORD, "next": "/tells/"}
    for name in ("alice", "alice@example.test", "ALICE@example.test"):
        client = Client()
        answer = client.post("/sign-in/", form | {"username": name})
        assert (answer.status_code, answer.headers["Location"]) == (302, "/tells/"), name
        assert client.session[SESSION_KEY] == str(alice.pk), name
    form["username"] = "alice"
    for elsewhere in ("https://rival.example/", "//rival.example/", "javascript:1"):
        answer = Client().post("/sign-in/", form | {"next": elsewhere})
        assert answer.headers["Location"] == "/", elsewhere


def test_wrong_password_keeps_the_name(client: Client, alice: User) -> None:
    answer = client.post("/sign-in/", {"username": "alice", "password": "guess"})
    assert answer.status_code == 422
    assert "do not match" in html(answer)
    assert 'value="alice"' in html(answer)
    assert SESSION_KEY not in client.session


def test_sign_in_is_throttled_and_logged(client: Client, alice: User, settings: Settings) -> None:
    settings.THROTTLES = {**settings.THROTTLES, "sign_in": 3}
    right = {"username": "alice", "password": PASSWORD}
    with capture_logs() as logs:
        for _ in range(3):
            client.post("/sign-in/", right | {"password": "guess"}, REMOTE_ADDR="203.0.113.9")
        answer = client.post("/sign-in/", right, REMOTE_ADDR="203.0.113.9")
    assert answer.status_code == 429
    assert 0 < int(answer.headers["Retry-After"]) <= 60
    assert SESSION_KEY not in client.session
    events = [log["event"] for log in logs if log["log_level"] == "warning"]
    assert events == [*["sign_in_failed"] * 3, "sign_in_throttled"]
    assert client.post("/sign-in/", right, REMOTE_ADDR="203.0.113.10").status_code == 302


def test_anonymous_user_returns_after_sign_in(client: Client) -> None:
    assert client.get("/tells/?x=1").headers["Location"] == "/sign-in/?next=/tells/%3Fx%3D1"
    here = {"HX-Current-URL": "http://testserver/memory/?q=a"}
    answer = client.get("/tells/", headers=HTMX | here)
    assert answer.status_code == 401
    assert answer.headers["HX-Redirect"] == "/sign-in/?next=/memory/%3Fq%3Da"
    for page_url, place in (
        ("http://testserver/review/?need=new", "/review/%3Fneed%3Dnew"),
        ("http://[", "/"),
        ("", "/"),
    ):
        answer = client.post("/tells/", headers={"Referer": page_url})
        assert answer.headers["Location"] == f"/sign-in/?next={place}", page_url


def test_form_sent_by_htmx_stays_after_the_session_ended(client: Client) -> None:
    answer = client.post("/tells/", headers=HTMX | {"HX-Current-URL": "http://testserver/memory/"})
    assert "What you typed is still on this page" in page(answer, 401)
    assert "HX-Redirect" not in answer.headers
    assert answer.headers["HX-Retarget"] == "#notices"


def test_address_of_a_form_is_no_page(reviewer: Client) -> None:
    answer = reviewer.get("/policy/set/")
    assert "This address receives forms and is not a page." in page(answer, 405)
    assert answer.headers["Allow"] == "POST"
    assert reviewer.post("/admins/").headers["Allow"] == "GET, HEAD"


def test_menu_of_an_unknown_address_leads_home(client: Client, db: None) -> None:
    text = page(client.post("/policy/set/of/nobody/"), 404)
    assert 'name="next" value="/"' in text


def test_sign_out_ends_the_session(reviewer: Client) -> None:
    assert reviewer.get("/sign-out/").status_code == 405
    assert reviewer.post("/sign-out/").headers["Location"] == "/sign-in/"
    assert reviewer.get("/").status_code == 302


def test_user_without_account_is_refused(client: Client, db: None) -> None:
    client.force_login(User.objects.create_user("loner", "loner@example.test"))
    assert "Ask an admin" in page(client.get("/"), 403)


def test_user_changes_account(reviewer: Client, alice: User, rival: Account) -> None:
    assert reviewer.post("/account/", {"account": str(rival.pk)}).status_code == 404
    with acting(rival):
        add_member(account_id=rival.pk, user=alice, role="admin", actor=SYSTEM)
    assert reviewer.get("/admins/").status_code == 403
    assert reviewer.post("/account/", {"account": str(rival.pk)}).status_code == 302
    assert reviewer.get("/admins/").status_code == 200
    assert reviewer.get("/").context["access"].name == "Rival"


def test_reviewer_cannot_open_admin_pages(client: Client, alice: User, ada: User) -> None:
    client.force_login(alice)
    assert "Only an admin" in html(client.get("/admins/"))
    client.force_login(ada)
    assert html(client.get("/admins/")) == "for admins"


def test_theme_is_set_in_the_html(client: Client, db: None) -> None:
    assert "data-bs-theme" not in html(client.get("/sign-in/"))
    client.post("/preferences/", {"theme": "dark", "next": "/sign-in/"})
    assert '<html lang="en" data-bs-theme="dark">' in html(client.get("/sign-in/"))
    assert client.post("/preferences/", {"theme": "<pink>"}).status_code == 400
    client.cookies["kmapp_theme"] = '"><script>'
    assert "data-bs-theme" not in html(client.get("/sign-in/"))


def test_preferences_are_stored_with_the_user(reviewer: Client) -> None:
    assert 'data-keys="on"' in html(reviewer.get("/"))
    for preference in ({"language": "zh-hans"}, {"keyboard": "off"}, {"theme": "dark"}):
        reviewer.post("/preferences/", preference)
    other = Client()
    other.post("/sign-in/", {"username": "alice", "password": PASSWORD})
    for client in (reviewer, other):
        text = html(client.get("/"))
        assert missing(text, '<html lang="zh-hans" data-bs-theme="dark">', 'data-keys="off"') == []


def test_navigation_links_work(reviewer: Client) -> None:
    page = re.findall(r'class="rail-link" href="([^"]+)"', html(reviewer.get("/")))
    assert page
    assert "/" in page
    assert all(reviewer.get(url).status_code == 200 for url in set(page))


def test_notices_and_errors_come_with_a_page_or_a_part(reviewer: Client) -> None:
    answer = html(reviewer.get("/tells/", headers=HTMX))
    assert answer.startswith("<p>part</p>")
    assert 'hx-swap-oob="beforeend:#notices"' in answer
    assert missing(answer, "Approved &lt;i&gt;it&lt;/i&gt;.", 'hx-post="/undo/"') == []
    assert "Approved" not in html(reviewer.get("/"))
    assert "Someone &lt;b&gt;approved&lt;/b&gt; it first." in page(reviewer.get("/refuses/"), 409)
    part = reviewer.get("/refuses/", headers=HTMX)
    assert (part.status_code, part.headers["HX-Retarget"]) == (409, "#notices")
    assert html(part).lstrip().startswith('<div class="notice notice-error"')


def test_every_status_carries_the_policy(reviewer: Client) -> None:
    reviewer.raise_request_exception = False
    forger = Client(enforce_csrf_checks=True)
    answers = {
        200: reviewer.get("/"),
        404: reviewer.get("/nowhere/"),
        409: reviewer.get("/refuses/"),
        500: reviewer.get("/breaks/"),
        403: forger.post("/sign-in/", {"username": "alice"}),
        400: reviewer.get("/", headers={"Host": "bad host"}),
    }
    for status, answer in answers.items():
        assert answer.status_code == status
        assert policy_of(answer) == POLICY
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert "kmapp</title>" in html(answer)


@pytest.mark.promise(35)
def test_every_url_carries_the_policy(client: Client, db: None) -> None:
    result = set()
    for path in VIEWS:
        answer = client.get(path)
        result.add(answer.status_code)
        assert policy_of(answer) == POLICY, path
        assert answer.headers["X-Content-Type-Options"] == "nosniff", path
    assert result == {200, 302, 401, 404, 405}  # 404: no such invitation


@pytest.mark.promise(35)
def test_every_post_needs_a_csrf_token(acme: Account) -> None:
    """A request of another site is refused even with the token (ASVS 3.5.1)."""
    forger = Client(enforce_csrf_checks=True)
    forger.force_login(staff(acme, "boss"))
    forger.cookies[settings.CSRF_COOKIE_NAME] = token = "t" * 32
    elsewhere = {"X-CSRFToken": token, "Origin": "https://evil.example"}
    pages = {path: view for path, view in VIEWS.items() if not is_api(path)}
    # Mail programs unsubscribe without a session; the address is signed, and nothing else counts.
    # A response of an identity provider counts only in the session with the secret of its request.
    bound = re.compile(r"/unsubscribe/.*|/sign-in/company/[^/]+/back/")
    exempt = {path for path, view in pages.items() if getattr(view, "csrf_exempt", False)}
    assert {path for path in exempt if not bound.fullmatch(path)} == set()
    own_paths = [path for path in pages.keys() - exempt if not path.startswith("/admin/")]
    for path in [*own_paths, "/admin/", "/admin/memory/memoryentry/"]:
        assert forger.post(path).status_code == 403, path
        assert forger.post(path, headers=elsewhere).status_code == 403, path
    for method in ("PUT", "PATCH", "DELETE"):
        assert forger.generic(method, "/keys/").status_code == 403
    assert forger.post("/keys/", headers={"X-CSRFToken": token}).status_code == 405
    assert len(own_paths) > 70


def test_error_page_needs_no_database(client: Client) -> None:
    """Without the `db` fixture, a query is an error."""
    client.raise_request_exception = False
    client.cookies["sessionid"] = "whatever"
    answer = client.get("/breaks/", headers={"X-Request-Id": "r-17"})
    assert answer.status_code == 500
    assert "Something went wrong" in html(answer)
    assert "r-17" in html(answer)


@pytest.mark.promise(15)
def test_database_overload_responds_503(client: Client) -> None:
    """Without the `db` fixture, a query is an error."""
    client.raise_request_exception = False
    answer = client.get("/busy/")
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) > 0
    assert "Temporarily unavailable" in html(answer)


def test_pages_are_private_and_compressed_and_api_responses_are_not(
    reviewer: Client, agent: Client
) -> None:
    headers = {"accept-encoding": "gzip"}
    plain = reviewer.get("/memory/")
    assert "private" in plain.headers["Cache-Control"]
    assert "HX-Request" in plain.headers["Vary"]
    answer = reviewer.get("/memory/", headers=headers)
    assert answer.headers["Content-Encoding"] == "gzip"
    assert len(answer.content) < len(plain.content) / 3
    assert "Content-Encoding" not in agent.get("/v1/schema", headers=headers).headers
