"""What base.html knows on every page."""

from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from kmapp.accounts.models import User
from kmapp.web import navigation
from kmapp.web.http import WebRequest
from kmapp.web.preferences import THEME_COOKIE


@dataclass(frozen=True, slots=True, kw_only=True)
class Chrome:
    """How this browser likes its pages. The theme is a cookie: known before anyone signs in."""

    theme: str
    keyboard: bool


def chrome(request: HttpRequest, *, ask_user: bool = True) -> Chrome:
    theme = request.COOKIES.get(THEME_COOKIE, "")
    user = getattr(request, "user", None) if ask_user else None
    return Chrome(
        theme=theme if theme in User.Theme else User.Theme.AUTO,
        keyboard=getattr(user, "keyboard_shortcuts", True),
    )


def frame(request: HttpRequest) -> dict[str, Any]:
    """Lazy, because a part of a page needs none of it."""
    context: dict[str, Any] = {"chrome": SimpleLazyObject(partial(chrome, request))}
    if hasattr(request, "access"):
        page_request = cast("WebRequest", request)
        context |= {
            "access": page_request.access,
            "accesses": page_request.accesses,
            "places": partial(navigation.places, page_request),
            "search_url": navigation.address(navigation.SEARCH),
        }
    return context
