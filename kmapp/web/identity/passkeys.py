"""Passkey views that differ from those of allauth."""

from typing import Any

from allauth.account.decorators import reauthentication_required
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal.flows import remove_authenticator
from allauth.mfa.webauthn.views import LoginWebAuthnView
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect

from kmapp.web.http import WebRequest
from kmapp.web.identity.allauth_pages import log_failed_attempt
from kmapp.web.identity.forms import RemovePasskeyForm
from kmapp.web.responses import render_form


class PasskeySignIn(LoginWebAuthnView):
    """Sign-in by a passkey alone, with failed attempts in the log."""

    def form_invalid(self, form: Any) -> HttpResponse:
        log_failed_attempt(self.request)
        answer: HttpResponse = super().form_invalid(form)
        return answer


def _remove_passkey(request: WebRequest, pk: int) -> HttpResponse:
    """Remove a passkey, unless an account of the person requires it."""
    rows = Authenticator.objects.filter(user=request.user, type=Authenticator.Type.WEBAUTHN)
    authenticator = get_object_or_404(rows, pk=pk)
    data = request.POST if request.method == "POST" else None
    form = RemovePasskeyForm(data, authenticator=authenticator)
    if request.method == "POST" and form.is_valid():
        remove_authenticator(request, authenticator)
        return redirect("mfa_index")
    context = {"form": form, "passkey": authenticator}
    return render_form(request, "mfa/webauthn/remove.html", context, invalid=form.is_bound)


remove_passkey: Any = reauthentication_required(app="allauth.mfa")(_remove_passkey)
