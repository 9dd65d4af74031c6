"""Behaviour of allauth's sign-in: log lines, preferences, addresses, messages, e-mails."""

from functools import partial
from smtplib import SMTPException
from typing import Any
from uuid import UUID

import structlog
from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.context import request_context
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import get_language, gettext_lazy, override
from django.utils.translation import gettext as _

from kmapp.accounts.models import User
from kmapp.api import throttles
from kmapp.errors import Unavailable
from kmapp.web.identity.company_session import store_company_session
from kmapp.web.responses import set_preference_cookies
from kmapp.web.sessions import end_sessions, remember_device

log = structlog.get_logger()
SECOND_FACTOR_STAGE = "kmapp.web.identity.second_factor_stage.SecondFactorStage"
INACTIVE = gettext_lazy("This user is deactivated and cannot sign in. Ask an admin.")


class AccountAdapter(DefaultAccountAdapter):
    error_messages = {
        **DefaultAccountAdapter.error_messages,
        "incorrect_password": gettext_lazy("This is not your password. Try again."),
        "too_many_login_attempts": gettext_lazy("Too many attempts. Wait five minutes."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Forbid sign-up: admins add members."""
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address as seen by the outermost of NUM_PROXIES proxies."""
        return throttles.client_address(request)

    def get_login_stages(self) -> list[str]:
        ours = {"allauth.mfa.stages.AuthenticateStage": SECOND_FACTOR_STAGE}
        return [ours.get(stage, stage) for stage in super().get_login_stages()]

    def pre_login(self, request: HttpRequest, user: User, **options: Any) -> HttpResponse | None:
        """Store whether the person comes from an account's provider, which limits the session."""
        company = (options.get("signal_kwargs") or {}).get("company")
        store_company_session(request.session, user, company)
        answer: HttpResponse | None = super().pre_login(request, user, **options)
        return answer

    def login(self, request: HttpRequest, user: User) -> None:
        super().login(request, user)
        address = self.get_client_ip(request)
        remember_device(request, address)
        log.info("signed_in", user=str(user.pk), address=address)

    def post_login(self, request: HttpRequest, user: User, **options: Any) -> HttpResponse:
        answer = super().post_login(request, user, **options)
        return set_preference_cookies(answer, theme=user.theme, language=user.language)

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        *args: Any,
        **options: Any,
    ) -> None:
        """Display allauth's messages, except the one that confirms the sign-in."""
        if message_template != "account/messages/logged_in.txt":
            super().add_message(request, level, message_template, *args, **options)

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        messages.error(request, str(INACTIVE))
        return redirect("web:sign_in")

    def set_password(self, user: User, password: str) -> None:
        """Set the password after a reset by e-mail.

        Whoever chose the initial password may have added a second factor: it is removed.
        """
        if user.has_initial_password:
            user.has_initial_password = False
            Authenticator.objects.filter(user=user).delete()
        super().set_password(user, password)
        end_sessions(user)
        log.info("password_changed", user=str(user.pk))

    def build_link(self, path: str) -> str:
        """Return the URL of a page for an e-mail: at PUBLIC_URL, if the operator has set it.

        Whoever sends a request chooses its Host header, among ALLOWED_HOSTS.
        """
        if settings.HAS_PUBLIC_URL:
            return f"{settings.PUBLIC_URL}{path}"
        return str(self.request.build_absolute_uri(path))

    def get_reset_password_from_key_url(self, key: str) -> str:
        person, _dash, token = key.partition("-")
        parts = {"uidb36": UUID(person), "key": token}
        return self.build_link(reverse("account_reset_password_from_key", kwargs=parts))

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a message that the person waits for; raise Unavailable if it cannot be sent."""
        try:
            super().send_mail(template_prefix, email, context)
        except (SMTPException, OSError) as error:
            log.exception("mail_not_sent", template=template_prefix)
            raise Unavailable(
                _("The e-mail could not be sent. Try again later, or tell the owner of kmapp."),
                retry_after=60,
            ) from error

    def send_notification_mail(self, *args: Any, **options: Any) -> None:
        """Tell people about changes of their login, after the change is committed."""
        transaction.on_commit(partial(self._notify, *args, **options))

    def _notify(self, template_prefix: str, user: User, *args: Any, **options: Any) -> None:
        """Send a notification in the person's language, which an admin may not have selected.

        A failure is only logged, because the change is committed.
        """
        with request_context(self.request), override(user.language or get_language()):
            try:
                super().send_notification_mail(template_prefix, user, *args, **options)
            except Unavailable:
                log.warning("notification_not_sent")
