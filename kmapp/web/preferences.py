"""How a person likes the pages: in cookies for this browser, in their row for the next one."""

from django.conf import settings
from django.http import HttpResponse

THEME_COOKIE = settings.THEME_COOKIE_NAME
_YEAR = 365 * 24 * 3600


def remember(answer: HttpResponse, *, theme: str = "", language: str = "") -> HttpResponse:
    """Set what is given."""
    cookies = {THEME_COOKIE: theme, settings.LANGUAGE_COOKIE_NAME: language}
    for name, value in cookies.items():
        if value:
            answer.set_cookie(
                name,
                value,
                max_age=_YEAR,
                httponly=True,
                samesite="Lax",
                secure=settings.LANGUAGE_COOKIE_SECURE,
            )
    return answer
