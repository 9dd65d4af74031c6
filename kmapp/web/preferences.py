"""Display preferences: cookies for this browser, the user's row for other browsers."""

from django.conf import settings
from django.http import HttpResponse

THEME_COOKIE = settings.THEME_COOKIE_NAME
_YEAR = 365 * 24 * 3600


def set_preference_cookies(
    answer: HttpResponse, *, theme: str = "", language: str = ""
) -> HttpResponse:
    """Set the cookies of the preferences that are not empty."""
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
