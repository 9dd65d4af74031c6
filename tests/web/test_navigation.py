"""The navigation: groups, which a browser can collapse, and the tabs of the settings."""

import re

from django.test import Client

from kmapp.web.navigation import COLLAPSED_COOKIE
from tests.makers import missing
from tests.web.pages import page

GROUP = re.compile(r'data-nav-group="(\w+)"( open)?')
CURRENT = re.compile(r'href="([^"]+)"(?: title="[^"]*")? aria-current="page"')


def test_groups_are_open_unless_this_browser_collapsed_them(reviewer: Client) -> None:
    policy = page(reviewer.get("/policy/"))
    assert missing(policy, '<a href="/connect/"') == []
    assert missing(policy, "/keys/", "/members/") == ["/keys/", "/members/"], "not a reviewer's"
    pages = {"/": "/", "/lore/new/": "/lore/", "/calls/costs/": "/calls/", "/lab/": "/lab/"}
    for path, current in pages.items():
        displayed = page(reviewer.get(path))
        sidebar = displayed[: displayed.index('<div class="stage">')]
        assert set(CURRENT.findall(sidebar)) == {current}
    groups = [("knowledge", " open"), ("agents", " open"), ("administration", " open")]
    assert GROUP.findall(page(reviewer.get("/"))) == groups
    reviewer.cookies[COLLAPSED_COOKIE] = "agents.<unknown>"
    groups[1] = ("agents", "")
    assert GROUP.findall(page(reviewer.get("/"))) == groups


def test_settings_show_their_pages_as_tabs(admin: Client) -> None:
    members = page(admin.get("/members/new/"))
    tabs = [f'<a href="{path}"' for path in ("/policy/", "/keys/", "/members/", "/connect/")]
    assert missing(members, '<nav class="views" aria-label="Settings">', *tabs) == []
    assert set(CURRENT.findall(members)) == {"/policy/", "/members/"}
