"""Requests of htmx, and the HTML of responses."""

import re
from html import unescape
from typing import Any

HTMX = {"HX-Request": "true"}


def html(response: Any) -> str:
    return str(response.content.decode())


def default_button(text: str, form: str) -> str:
    """Return the button that Enter presses in the form that starts with this text."""
    button: str = re.findall(r'<button[^>]*\stype="submit"[^>]*>', text.partition(form)[2])[0]
    return button


def page(response: Any, status: int = 200) -> str:
    assert response.status_code == status
    return html(response)


def read_confirmation(text: str) -> dict[str, str]:
    """Return the hidden field of a page that asks for confirmation."""
    [value] = re.findall(r'name="confirmed" value="([^"]*)"', text)
    return {"confirmed": unescape(value)}
