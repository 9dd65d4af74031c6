"""Signing in by name or e-mail, slowed down after failures."""

from hashlib import sha256
from typing import Any

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.core.cache import cache
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from rest_framework.throttling import BaseThrottle
from rest_framework.request import Request

from kmapp.accounts.models import User

WINDOW = 60  # seconds in which failures add up


class SignInForm(AuthenticationForm):
    """By name or by e-mail address."""

    error_messages = {
        "invalid_login": _("Name and password do not match. Check both and try again."),
        "inactive": _("This person may no longer sign in. Ask an admin."),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = _("Name or e-mail")
        for field in self.fields.values():
            field.widget.attrs["class"] = "form-control"

    def clean_username(self) -> str:
        given: str = self.cleaned_data["username"]
        known = User.objects.filter(email__iexact=given).values_list("username", flat=True).first()
        return known or given


class Failures:
    """Failed sign-ins of one address, counted in the cache that all processes share."""

    def __init__(self, request: HttpRequest) -> None:
        # The same reading of NUM_PROXIES as the API's: a client cannot choose its own address.
        address = BaseThrottle().get_ident(Request(request))
        self.key = f"sign-in:{sha256(address.encode()).hexdigest()}"

    def too_many(self) -> bool:
        return cache.get(self.key, 0) >= settings.THROTTLES["sign_in"]

    def add(self) -> None:
        cache.add(self.key, 0, timeout=WINDOW)
        cache.incr(self.key)

    def clear(self) -> None:
        cache.delete(self.key)
