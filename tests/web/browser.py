"""A Chromium browser at a served application, with policy and accessibility checks."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
from playwright.sync_api import Browser, Page, expect, sync_playwright

from kmapp.accounts.models import User
from kmapp.web.sessions import SessionStore
from tests.databases import get_pool

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WIDTHS = (320, 390, 900, 1280)  # pixels; pages have the last one afterwards
HEIGHT = 800
PATIENCE = 60_000  # milliseconds; a busy machine takes long
# By default, two combinations of theme and language alternate between pages. `make browser`
# inspects every page in all four.
WHOLE_MATRIX = os.environ.get("WHOLE_MATRIX") == "1"
MATRIX = [*product(("light", "dark"), ("en", "zh-hans"))]
IN_TURN = cycle([("light", "en"), ("dark", "zh-hans")])  # one for each page that is inspected
SCREENSHOT_VARIANTS = (("light", "en", 1280), ("dark", "zh-hans", 390))
# axe would load the style sheets only for one rule, which is experimental and off.
AXE = {"resultTypes": ["violations"], "preload": {"assets": ["media"]}}
# A full result also lists the elements that pass each rule, which takes long to transfer.
LIST_VIOLATIONS = """
async (options) => {
  const {violations} = await axe.run(options);
  return violations.flatMap(({id, nodes}) => nodes.map(({html}) => `${id}: ${html.slice(0, 160)}`));
}
"""
REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) => {
  window.reportViolation(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`);
});
"""


def chromium() -> str:
    """Return the path of Chromium, or skip the test."""
    result = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not result:
        pytest.skip("No Chromium: install one (apt-get install chromium) or name it in CHROMIUM.")
    return result


@contextmanager
def launched() -> Iterator[Browser]:
    path = chromium()
    # Playwright keeps an event loop in this thread, which Django would take for an async caller.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
            yield browser
            browser.close()
    finally:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


class _Handler(WSGIRequestHandler):
    """Handle the requests of a client, each with a database connection of the pool."""

    server: "_Server"
    disable_nagle_algorithm = True  # otherwise the end of a response waits for an acknowledgement
    has_connection = False

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Log nothing."""

    def parse_request(self) -> bool:
        """Borrow a connection once a request has come; a client may be silent for long."""
        if not super().parse_request():
            return False
        self.server.pool.lend()
        self.has_connection = True
        return True

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        finally:
            if self.has_connection:
                self.has_connection = False
                self.server.pool.take_back()


class _Server(ThreadedWSGIServer):
    """A thread for each client."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.pool = get_pool()


@contextmanager
def served(application: Any = None) -> Iterator[str]:
    """Serve the product, or another application, on a free port, one thread per client."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.set_app(application or get_wsgi_application())
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Visitor:
    """A browser page and the errors it reported."""

    page: Page
    base: str
    violations: list[str] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)

    def go(self, path: str) -> None:
        answer = self.page.goto(self.base + path)
        assert answer is None or answer.status < HTTPStatus.INTERNAL_SERVER_ERROR, path

    def sign_in(self, user: User) -> None:
        """Set the session cookie of a user."""
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.save()
        self._cookie(settings.SESSION_COOKIE_NAME, str(session.session_key))

    def prefers(self, *, theme: str, language: str) -> None:
        self._cookie(settings.THEME_COOKIE_NAME, theme)
        self._cookie(settings.LANGUAGE_COOKIE_NAME, language)

    def _cookie(self, name: str, value: str) -> None:
        self.page.context.add_cookies([{"name": name, "value": value, "url": self.base}])

    def inspect(self, path: str) -> list[str]:
        """Return the accessibility errors of a page, and the widths at which it is too wide.

        The page is opened in the next theme and language of `IN_TURN`, or with `WHOLE_MATRIX` in
        both themes and both languages.
        """
        errors = []
        for theme, language in MATRIX if WHOLE_MATRIX else [next(IN_TURN)]:
            self.prefers(theme=theme, language=language)
            self.go(path)
            errors += [
                f"{path} {theme} {language} {one}" for one in self.find_accessibility_violations()
            ]
            errors += [f"{path} {language} {one}" for one in self._overflows()]
        return errors

    def shoot(self, **places: str) -> None:
        """Save screenshots of these pages to the folder in SHOTS."""
        folder = os.environ.get("SHOTS")
        for name, path in places.items() if folder else ():
            for theme, language, width in SCREENSHOT_VARIANTS:
                self.prefers(theme=theme, language=language)
                self.page.set_viewport_size({"width": width, "height": HEIGHT})
                self.go(path)
                shot = Path(folder or "") / f"{name}-{width}.png"
                self.page.screenshot(path=shot, full_page=True)

    def find_accessibility_violations(self) -> list[str]:
        """Return the accessibility violations found by axe."""
        self.page.evaluate(AXE_SCRIPT)
        return list(self.page.evaluate(LIST_VIOLATIONS, AXE))

    def _overflows(self) -> list[str]:
        """Return a message for each width at which the page scrolls sideways."""
        excess = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        errors = []
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": HEIGHT})
            if (pixels := self.page.evaluate(excess)) > 0:
                errors.append(f"{pixels} px too wide for {width}")
        return errors


def _press_when_loaded(page: Page) -> None:
    """Make key presses wait for the load event, as a page is visible before its scripts run."""
    press = page.keyboard.press

    def press_when_loaded(key: str, **options: Any) -> None:
        page.wait_for_load_state()
        press(key, **options)

    page.keyboard.press = press_when_loaded  # type: ignore[method-assign]


@contextmanager
def visiting(browser: Browser, base: str, *, width: int = 1280) -> Iterator[Visitor]:
    context = browser.new_context(viewport={"width": width, "height": HEIGHT})
    page = context.new_page()
    visitor = Visitor(page, base)

    def note(text: str) -> None:  # not the bound method, because Playwright sets attributes on it
        visitor.violations.append(text)

    page.expose_function("reportViolation", note)
    page.add_init_script(REPORT_VIOLATIONS)
    page.on("pageerror", lambda error: visitor.mistakes.append(str(error)))
    page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    _press_when_loaded(page)
    yield visitor
    context.close()
