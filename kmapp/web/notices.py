"""What a page says after a deed, with a way back where there is one."""

from django.contrib import messages
from django.contrib.messages.storage.base import Message
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

_UNDO = "undo:"


def tell(request: HttpRequest, text: str, *, undo: str = "") -> None:
    """Say it on this page or the next; `undo` is the address that takes it back by POST."""
    messages.success(request, text, extra_tags=_UNDO + undo if undo else "")


def warn(request: HttpRequest, text: str) -> None:
    messages.warning(request, text)


def undo_address(message: Message) -> str:
    tags = message.extra_tags or ""
    return tags.removeprefix(_UNDO) if tags.startswith(_UNDO) else ""


def append(request: HttpRequest, answer: HttpResponse) -> None:
    """A part of a page carries the notices with it; they are swapped into their own place."""
    is_html = answer.headers.get("Content-Type", "").startswith("text/html")
    if not is_html or "HX-Redirect" in answer.headers or not messages.get_messages(request):
        return
    answer.write(render_to_string("components/notices.html", {"swapped": True}, request))
