"""Every control works without JavaScript and under a policy that runs nothing inline."""

import re
from pathlib import Path

import pytest
from django.conf import settings

ROOT = settings.BASE_DIR / "templates"
TEMPLATES = sorted(ROOT.rglob("*.html"))
FORBIDDEN = {
    "inline style": r"\sstyle=|<style",
    "inline script": r"<script(?![^>]*\ssrc=)",
    "inline handler": r"\son[a-z]+=|hx-on",
    "evaluated by htmx": r"hx-trigger=\"[^\"]*\[|hx-(vals|headers|vars)=[\"']js:",
    "unescaped": r"\|safe\b|autoescape off",
    "from elsewhere": r"(src|href)=\"(https?:)?//",
    "a button that says not what it does": r"<button(?![^>]*\stype=)",
    "a link that only htmx can follow": r"<a(?![^>]*\shref=)[^>]*hx-",
}


@pytest.mark.parametrize("what", FORBIDDEN)
@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_template_contains_nothing_forbidden(path: Path, what: str) -> None:
    assert re.findall(FORBIDDEN[what], path.read_text()) == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_htmx_form_works_without_javascript(path: Path) -> None:
    for form in re.findall(r"<form[^>]*hx-post[^>]*>", path.read_text()):
        assert 'method="post"' in form
