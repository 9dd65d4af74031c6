"""Language, theme and keyboard shortcuts, also before sign-in."""

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from kmapp.accounts.models import User
from kmapp.errors import Invalid
from kmapp.web.errors import render_error
from kmapp.web.http import safe_next_url
from kmapp.web.responses import set_preference_cookies


class PreferencesForm(forms.Form):
    """Preferences to change; missing ones stay unchanged."""

    language = forms.ChoiceField(choices=settings.LANGUAGES, required=False)
    theme = forms.ChoiceField(choices=User.Theme.choices, required=False)
    keyboard = forms.ChoiceField(choices=[("on", "on"), ("off", "off")], required=False)


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
