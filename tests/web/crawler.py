"""A crawler that opens all pages in a browser."""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from django.urls import resolve
from playwright.sync_api import Dialog, Error, Page, Request, expect

from kmapp.accounts.models import Account, User
from kmapp.web.filters import MAX_QUERY_LENGTH
from tests.kernel.names import ObjectIds
from tests.web.browser import Visitor
from tests.web.stored_payloads import Planter, pack_payloads

NOT_PAGES = ("/admin/", "/knowledge/images/", "/memory/export/", "/v1/")
AN_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
# Lists what pages of the product never contain: URLs that run scripts, event handlers, and
# attributes by which htmx or polling would request the canary.
FIND_UNSAFE_ATTRIBUTES = """
() => {
  const found = [];
  for (const one of document.querySelectorAll("*")) {
    for (const {name, value} of one.attributes) {
      const runs = /^(href|xlink:href|action|formaction|src)$/.test(name);
      if (runs && /^[\\s\\x00-\\x20]*(javascript|data|vbscript):/i.test(value)) found.push(value);
      if (/^on/.test(name) || /^(data-)?hx-on/.test(name)) found.push(name);
      const asks = /^((data-)?hx-(get|post)|data-poll)$/.test(name);
      if (asks && value.startsWith("/canary")) found.push(name);
    }
  }
  return found;
}
"""
# Lists the URLs that a page leads to: links, requests of htmx, polled parts, and GET forms whose
# fields are filled with a text.
LINKS_SCRIPT = """
(text) => {
  const found = [];
  for (const name of ["href", "hx-get", "data-poll"]) {
    for (const one of document.querySelectorAll(`:not(link)[${name}]`)) {
      found.push(new URL(one.getAttribute(name), location).href);
    }
  }
  for (const form of document.querySelectorAll("form:not([method=post])")) {
    const said = new FormData(form);
    for (const one of form.querySelectorAll("input, textarea")) {
      if (one.name && /^(text|search|textarea)$/.test(one.type)) said.set(one.name, text);
    }
    found.push(`${form.action || location.pathname}?${new URLSearchParams(said)}`);
  }
  return found;
}
"""


@dataclass
class Watch:
    """Dialogs and foreign requests of a page."""

    base: str
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def over(self, page: Page) -> None:
        page.on("dialog", self._dialog)
        page.on("request", self._request)

    def _dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        query = urlsplit(request.url)
        is_own = f"{query.scheme}://{query.netloc}" == self.base or query.scheme == "data"
        if not is_own or "canary" in query.path:
            self.requests.append(request.url)

    def noticed(self, visitor: Visitor) -> list[str]:
        """Return and reset everything recorded, including policy violations."""
        with suppress(Error):  # the browser left the page
            visitor.page.evaluate("1")  # earlier events have been reported when it returns
        result = [*self.dialogs, *self.requests, *visitor.violations, *visitor.mistakes]
        for each in (self.dialogs, self.requests, visitor.violations, visitor.mistakes):
            each.clear()
        return result


@dataclass(frozen=True)
class SiteData:
    """An account that contains the payloads, and a user who can open all pages."""

    account: Account
    boss: User
    names: ObjectIds
    topic: UUID
    planter: Planter


@dataclass
class SeenPages:
    """The kinds of pages opened so far, with their query parameters."""

    keys: dict[str, set[str]] = field(default_factory=dict)

    def is_new(self, where: str) -> bool:
        """Return whether the kind of the page or one of its parameters is new; record both."""
        parts = urlsplit(where)
        kind, query = AN_ID.sub("", parts.path), set(parse_qs(parts.query, keep_blank_values=True))
        new = kind not in self.keys or not query <= self.keys[kind]
        self.keys[kind] = self.keys.get(kind, set()) | query
        return new


@dataclass
class Walk:
    """A user who opens page after page."""

    visitor: Visitor
    watch: Watch
    site_data: SiteData
    opened: int = 0
    harm: list[str] = field(default_factory=list)

    def open(self, path: str) -> int:
        """Open a page, record what its payloads did, and return the status.

        The names of the account and the user change with each page.
        """
        self.opened += 1
        self.site_data.planter.name(self.site_data.account, self.site_data.boss, self.opened)
        where = self.visitor.base + path
        answer = self.visitor.page.goto(where, wait_until="domcontentloaded")
        result = [
            *self.visitor.page.evaluate(FIND_UNSAFE_ATTRIBUTES),
            *self.watch.noticed(self.visitor),
        ]
        self.harm += [f"{path}: {each}" for each in result]
        assert answer is not None
        policy = answer.headers["content-security-policy"].split("; ")
        assert {"script-src 'self'", "default-src 'none'"} <= {*policy}, path
        assert answer.status < HTTPStatus.INTERNAL_SERVER_ERROR, path
        return answer.status

    def go_everywhere(self, all_pages: Mapping[str, str]) -> set[str]:
        """Open these pages and the URLs of `list_links`; return the names of the pages shown."""
        todo, seen_pages, seen = deque(all_pages.values()), SeenPages(), set[str]()
        assert all(seen_pages.is_new(path) for path in todo)
        while todo:
            path = todo.popleft()
            if self.open(path) == HTTPStatus.OK:
                seen.add(resolve(urlsplit(path).path).view_name)
            links = [link for link in self.list_links() if not link.startswith(NOT_PAGES)]
            todo += [link for link in links if seen_pages.is_new(link)]
        return seen

    def approve(self, pk: UUID) -> None:
        """Approve a proposal by keyboard."""
        self.open(f"/review/?at={pk}")
        page = self.visitor.page
        page.wait_for_load_state()
        page.keyboard.press("a")
        expect(page.locator(".notice")).to_be_visible()
        self.harm += [*page.evaluate(FIND_UNSAFE_ATTRIBUTES), *self.watch.noticed(self.visitor)]

    def list_links(self) -> Iterator[str]:
        """Yield the URLs of the product with a query that this page leads to.

        `go_everywhere` gets those without a query as an argument.
        """
        text = pack_payloads(self.opened, MAX_QUERY_LENGTH)
        for where in self.visitor.page.evaluate(LINKS_SCRIPT, text):
            parts = urlsplit(where)
            if f"{parts.scheme}://{parts.netloc}" == self.visitor.base and parts.query:
                yield f"{parts.path}?{parts.query}"
