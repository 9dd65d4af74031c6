"""Pages by the names under which allauth looks them up. Others are in `kmapp.web.urls`."""

from allauth.account import views as account
from django.conf import settings
from django.urls import path

from kmapp.web.identity.pages import public_page
from kmapp.web.views import session

MAIL = {"sends_mail": bool(settings.EMAIL_HOST)}

urlpatterns = [
    path("sign-in/", session.sign_in, name="account_login"),
    path("sign-in/", session.sign_in, name="account_signup"),  # nobody can sign up
    path("password/reset/", public_page(account.password_reset), name="account_reset_password"),
    path(
        "password/reset/sent/",
        public_page(account.PasswordResetDoneView.as_view(extra_context=MAIL)),
        name="account_reset_password_done",
    ),
    path(
        "password/reset/<uuid:uidb36>/<str:key>/",
        public_page(account.password_reset_from_key),
        name="account_reset_password_from_key",
    ),
    path(
        "password/reset/done/",
        public_page(account.password_reset_from_key_done),
        name="account_reset_password_from_key_done",
    ),
]
