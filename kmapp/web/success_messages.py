"""Notices after an action, with a link to undo it where possible."""

from django.contrib import messages
from django.contrib.messages.storage.base import Message
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

_UNDO = "undo:"


def notify_success(request: HttpRequest, text: str, *, undo: str = "") -> None:
    """Display a notice on this page or the next; a POST to `undo` reverts the action."""
    messages.success(request, text, extra_tags=_UNDO + undo if undo else "")


def undo_address(message: Message) -> str:
    """Return the URL that undoes the action of a notice, or an empty string."""
    tags = message.extra_tags or ""
    return tags.removeprefix(_UNDO) if tags.startswith(_UNDO) else ""


def append_notices(request: HttpRequest, answer: HttpResponse) -> None:
    """Append the notices to a partial response; htmx swaps them into their own element."""
    is_html = answer.headers.get("Content-Type", "").startswith("text/html")
    if not is_html or "HX-Redirect" in answer.headers or not messages.get_messages(request):
        return
    answer.write(render_to_string("components/notices.html", {"swapped": True}, request))
