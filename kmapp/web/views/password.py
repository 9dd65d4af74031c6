"""Change of one's own password."""

import structlog
from allauth.account.adapter import get_adapter
from django.contrib.auth import update_session_auth_hash
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from kmapp.accounts.permissions import Permission
from kmapp.web.http import WebRequest
from kmapp.web.login_forms import PasswordForm
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_form
from kmapp.web.sessions import end_sessions

log = structlog.get_logger()


@sensitive_post_parameters()
@never_cache
@page_view("GET", "POST", needs=Permission.READ, own_login=True)
def password(request: WebRequest) -> HttpResponse:
    """Change one's own password. Other sessions end."""
    form = PasswordForm(request.user, request.POST or None)
    if request.method != "POST" or not form.is_valid():
        context = {"form": form}
        return render_form(request, "web/session/password.html", context, invalid=form.is_bound)
    update_session_auth_hash(request, form.save())
    end_sessions(request.user, except_key=request.session.session_key)
    log.info("password_changed", user=str(request.user.pk))
    get_adapter(request).send_notification_mail("account/email/password_changed", request.user)
    return redirect_with_notice(
        request, _("Password changed. You are signed out on all other devices."), "web:home"
    )
