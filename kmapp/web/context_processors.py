"""Context of every page."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from kmapp.accounts.models import User
from kmapp.accounts.permissions import Permission
from kmapp.management.demo.load_demo import is_empty
from kmapp.web import navigation
from kmapp.web.http import WebRequest, as_web_request, find_page_url


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


def base_template(request: HttpRequest) -> dict[str, Any]:
    """Return the context of base.html. The values are lazy, because partials need none of them."""
    context: dict[str, Any] = {
        "chrome": SimpleLazyObject(partial(chrome, request)),
        "kmapp_command": settings.COMMAND,
        "page_url": SimpleLazyObject(partial(find_page_url, request)),
    }
    if hasattr(request, "access"):
        page_request = as_web_request(request)
        context |= {
            "access": page_request.access,
            "accesses": page_request.accesses,
            "navigation": SimpleLazyObject(partial(navigation.build_navigation, page_request)),
            "offers_demo": partial(_offers_demo, page_request),
        }
    return context


def _offers_demo(request: WebRequest) -> bool:
    """Return whether empty pages offer demo data to this person."""
    return Permission.OPERATE in request.permissions and is_empty(request.account_id)
