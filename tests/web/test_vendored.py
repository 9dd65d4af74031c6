"""Vendored files, icons and templates."""

import json
import re
from hashlib import sha256

import pytest
from django.conf import settings

from kmapp.web import icons
from kmapp.web.navigation import NAV_GROUPS
from kmapp.web.status_badges import BADGES

VENDOR = settings.BASE_DIR / "static" / "vendor"
PACKAGES = json.loads((VENDOR / "VENDORED.json").read_text())
DIGESTS = {path: digest for package in PACKAGES for path, digest in package["sha256"].items()}


def test_vendored_files_are_listed_and_match_their_digests() -> None:
    files = {str(path.relative_to(VENDOR)): path for path in VENDOR.glob("*/*")}
    assert {name: sha256(path.read_bytes()).hexdigest() for name, path in files.items()} == DIGESTS


def test_every_icon_is_used() -> None:
    apps = ("templates", "kmapp", "memory", "knowledge", "rules", "context")
    files = [path for app in apps for path in (settings.BASE_DIR / app).rglob("*")]
    product = "".join(path.read_text() for path in files if path.suffix in {".html", ".py"})
    named = set(re.findall(r"""["']([a-z0-9-]+)["']""", product))
    assert {path.stem for path in VENDOR.glob("lucide/*.svg")} <= named


def test_every_package_has_a_licence() -> None:
    folders = {path.partition("/")[0] for path in DIGESTS}
    assert {f"{folder}/LICENSE" for folder in folders} <= set(DIGESTS)


def test_navigation_and_badges_have_icons() -> None:
    items = [item for group in NAV_GROUPS for item in group.items]
    items += [page for item in items for page in item.pages]
    names = {item.icon for item in items} | {badge.icon for badge in BADGES.values()}
    assert all(icons.load_drawing(name) for name in names)


ROOT = settings.BASE_DIR / "templates"
TEMPLATES = {str(path.relative_to(ROOT)): path.read_text() for path in ROOT.rglob("*.html")}
FORBIDDEN = {
    "inline style": r"\sstyle=|<style",
    "inline script": r"<script(?![^>]*\ssrc=)",
    "inline handler": r"\son[a-z]+=|hx-on",
    "evaluated by htmx": r"hx-trigger=\"[^\"]*\[|hx-(vals|headers|vars)=[\"']js:",
    "unescaped": r"\|safe\b|autoescape off",
    "from elsewhere": r"(src|href)=\"(https?:)?//",
    "a button that says not what it does": r"<button(?![^>]*\stype=)",
    "a link that only htmx can follow": r"<a(?![^>]*\shref=)[^>]*hx-",
    "a link to what only the block of the crumbs knows": r'href="{{ (?:up|back) }}"',
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_templates_contain_nothing_forbidden(what: str) -> None:
    results = {name: re.findall(FORBIDDEN[what], text) for name, text in TEMPLATES.items()}
    assert {name: matches for name, matches in results.items() if matches} == {}


def test_htmx_forms_work_without_javascript() -> None:
    forms = [
        (name, form)
        for name, text in TEMPLATES.items()
        for form in re.findall(r"<form[^>]*hx-post[^>]*>", text)
    ]
    assert forms
    assert [each for each in forms if 'method="post"' not in each[1]] == []


FORM = re.compile(r"<form\b.*?</form>", re.DOTALL)
TEXT_FIELD = re.compile(
    r'<input(?![^>]*\stype="(?:hidden|checkbox|radio|file)")'
    r"|components/(?:field|filter_fields)\.html|{{ field"
)
DEFAULT_BUTTON = re.compile(
    r'components/default_button\.html|<button(?![^>]*\sform=)[^>]*\stype="submit"[^>]*>'
)


def test_enter_in_a_text_field_presses_no_button_with_a_meaning_of_its_own() -> None:
    """Browsers press the first submit button of a form, wherever it is on the page."""
    defaults = [
        (name, DEFAULT_BUTTON.search(form))
        for name, text in TEMPLATES.items()
        for form in FORM.findall(text)
        if TEXT_FIELD.search(form)
    ]
    assert defaults
    assert [(name, first[0]) for name, first in defaults if first and " name=" in first[0]] == []
