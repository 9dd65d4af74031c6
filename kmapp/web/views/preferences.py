"""Language, theme and keyboard shortcuts, also before sign-in; the time zone of a person."""

from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from kmapp.accounts.models import User
from kmapp.accounts.permissions import Permission
from kmapp.errors import Invalid
from kmapp.web.error_views import render_error
from kmapp.web.forms import Styled
from kmapp.web.http import WebRequest, safe_next_url
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_form, set_preference_cookies
from kmapp.web.time_zones import zone_choices


class PreferencesForm(forms.Form):
    """Preferences to change; missing ones stay unchanged."""

    language = forms.ChoiceField(choices=settings.LANGUAGES, required=False)
    theme = forms.ChoiceField(choices=User.Theme.choices, required=False)
    keyboard = forms.ChoiceField(choices=[("on", "on"), ("off", "off")], required=False)


class TimeZoneForm(Styled):
    """The person's time zone; empty for that of the browser."""

    time_zone = forms.ChoiceField(
        label=_("Time zone"),
        required=False,
        help_text=_("Dates and times on pages use it. The API and exports use UTC."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["time_zone"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - for mypy
        field.choices = [("", _("Same as this browser")), *zone_choices()]


@page_view("GET", "POST", needs=Permission.READ, without_factor=True)
def time_zone(request: WebRequest) -> HttpResponse:
    """Show all preferences, and change the time zone of pages."""
    form = TimeZoneForm(request.POST or None, initial={"time_zone": request.user.time_zone})
    if request.method == "POST" and form.is_valid():
        User.objects.filter(pk=request.user.pk).update(**form.cleaned_data)
        return redirect_with_notice(request, gettext("Preferences saved."), "web:time_zone")
    context = {"form": form, "now": timezone.now()}
    return render_form(request, "web/preferences/index.html", context, invalid=form.is_bound)


@require_POST
def preferences(request: HttpRequest) -> HttpResponse:
    form = PreferencesForm(request.POST)
    if not form.is_valid():
        return render_error(request, Invalid("; ".join(form.errors)))
    chosen = {name: value for name, value in form.cleaned_data.items() if value}
    keyboard = chosen.pop("keyboard", None)
    if request.user.is_authenticated:
        shortcuts = {"keyboard_shortcuts": keyboard == "on"} if keyboard else {}
        User.objects.filter(pk=request.user.pk).update(**chosen, **shortcuts)
    return set_preference_cookies(redirect(safe_next_url(request, "web:home")), **chosen)
