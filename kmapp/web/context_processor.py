"""Context processor for base.html."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from kmapp.accounts.models import User
from kmapp.web import navigation
from kmapp.web.http import as_web_request


@dataclass(frozen=True, slots=True, kw_only=True)
class Chrome:
    """Display preferences of this browser. The theme is a cookie, so it works before sign-in."""

    theme: str
    keyboard: bool


def chrome(request: HttpRequest, *, use_user: bool = True) -> Chrome:
    theme = request.COOKIES.get(settings.THEME_COOKIE_NAME, "")
    user = getattr(request, "user", None) if use_user else None
    return Chrome(
        theme=theme if theme in User.Theme else User.Theme.AUTO,
        keyboard=getattr(user, "keyboard_shortcuts", True),
    )


def frame(request: HttpRequest) -> dict[str, Any]:
    """Return lazy values, because partials need none of them."""
    context: dict[str, Any] = {"chrome": SimpleLazyObject(partial(chrome, request))}
    if hasattr(request, "access"):
        page_request = as_web_request(request)
        context |= {
            "access": page_request.access,
            "accesses": page_request.accesses,
            "nav_items": partial(navigation.list_nav_items, page_request),
            "search_url": navigation.find_url(navigation.SEARCH),
        }
    return context
