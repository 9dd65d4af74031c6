"""Pages by the names under which allauth looks them up. Others are in `kmapp.web.urls`."""

from allauth.account import views as account
from allauth.mfa.base import views as mfa
from allauth.mfa.recovery_codes import views as recovery
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as webauthn
from django.conf import settings
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from kmapp.web.identity import company_sign_in
from kmapp.web.identity.allauth_pages import factor_page, list_passkeys, member_page, public_page
from kmapp.web.identity.passkeys import PasskeySignIn, remove_passkey
from kmapp.web.views import security, sign_in

MAIL = {"sends_mail": bool(settings.EMAIL_HOST)}
RESET = "account_reset_password"

sign_in_pages = [
    path("sign-in/", sign_in.sign_in, name="account_login"),
    path("sign-in/", sign_in.sign_in, name="account_signup"),  # nobody can sign up
    path("sign-in/second-factor/", public_page(mfa.authenticate), name="mfa_authenticate"),
    path("sign-in/passkey/", public_page(PasskeySignIn.as_view()), name="mfa_login_webauthn"),
    path("sign-in/company/<slug:slug>/", public_page(company_sign_in.start), name="company_start"),
    path(
        # Instead of a CSRF token, secrets of the sign-in bind the provider's response to the
        # session.
        "sign-in/company/<slug:slug>/back/",
        csrf_exempt(public_page(company_sign_in.finish)),
        name="company_finish",
    ),
    path("password/reset/", public_page(account.password_reset), name=RESET),
    path(
        "password/reset/sent/",
        public_page(account.PasswordResetDoneView.as_view(extra_context=MAIL)),
        name=f"{RESET}_done",
    ),
    path(
        "password/reset/<uuid:uidb36>/<str:key>/",
        public_page(account.password_reset_from_key),
        name=f"{RESET}_from_key",
    ),
    path(
        "password/reset/done/",
        public_page(account.password_reset_from_key_done),
        name=f"{RESET}_from_key_done",
    ),
]
confirm = [
    path("confirm/password/", member_page(account.reauthenticate), name="account_reauthenticate"),
    path("confirm/code/", member_page(mfa.reauthenticate), name="mfa_reauthenticate"),
    path(
        "confirm/passkey/",
        member_page(webauthn.reauthenticate_webauthn),
        name="mfa_reauthenticate_webauthn",
    ),
]
own_security = [
    path("security/", security.security, name="mfa_index"),
    path("security/app/add/", factor_page(totp.activate_totp), name="mfa_activate_totp"),
    path("security/app/remove/", member_page(totp.deactivate_totp), name="mfa_deactivate_totp"),
    path("security/passkeys/", member_page(list_passkeys), name="mfa_list_webauthn"),
    path("security/passkeys/add/", factor_page(webauthn.add_webauthn), name="mfa_add_webauthn"),
    path(
        "security/passkeys/<int:pk>/rename/",
        member_page(webauthn.edit_webauthn),
        name="mfa_edit_webauthn",
    ),
    path(
        "security/passkeys/<int:pk>/remove/",
        member_page(remove_passkey),
        name="mfa_remove_webauthn",
    ),
    path(
        "security/recovery-codes/",
        member_page(recovery.view_recovery_codes),
        name="mfa_view_recovery_codes",
    ),
    path(
        "security/recovery-codes/new/",
        member_page(recovery.generate_recovery_codes),
        name="mfa_generate_recovery_codes",
    ),
]
urlpatterns = [*sign_in_pages, *confirm, *own_security]
