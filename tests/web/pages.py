"""Requests of htmx, and the HTML of responses."""

from typing import Any

HTMX = {"HX-Request": "true"}


def html(response: Any) -> str:
    return str(response.content.decode())


def page(response: Any, status: int = 200) -> str:
    assert response.status_code == status
    return html(response)
