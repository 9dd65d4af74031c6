"""Sign-in: passwords, passkeys and second factors."""

AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "web:sign_in"
LOGIN_REDIRECT_URL = "web:home"
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.ScryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "kmapp.accounts.password_strength.GuessableValidator"},
]
# Sign-in and password reset use flows of django-allauth with our own pages.
ACCOUNT_ADAPTER = "kmapp.web.identity.account_adapter.AccountAdapter"
ACCOUNT_FORMS = {
    "reauthenticate": "kmapp.web.identity.forms.ConfirmPasswordForm",
    "reset_password": "kmapp.web.identity.forms.RequestResetForm",
    "reset_password_from_key": "kmapp.web.identity.forms.ResetPasswordForm",
}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_EMAIL_VERIFICATION = "none"  # people are added by admins; nobody can sign up
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[kmapp] "
MFA_ADAPTER = "kmapp.web.identity.mfa_adapter.MFAAdapter"
MFA_FORMS = {
    "activate_totp": "kmapp.web.identity.forms.AddAuthenticatorForm",
    "add_webauthn": "kmapp.web.identity.forms.AddPasskeyForm",
    "authenticate": "kmapp.web.identity.forms.SecondFactorForm",
    "authenticate_webauthn": "kmapp.web.identity.forms.SecondPasskeyForm",
    "edit_webauthn": "kmapp.web.identity.forms.RenamePasskeyForm",
    "login_webauthn": "kmapp.web.identity.forms.PasskeySignInForm",
    "reauthenticate": "kmapp.web.identity.forms.ConfirmCodeForm",
    "reauthenticate_webauthn": "kmapp.web.identity.forms.ConfirmPasskeyForm",
}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_ALLOW_UNVERIFIED_EMAIL = True  # admins add people by address; there is no verification
PASSWORD_RESET_TIMEOUT = 3600  # seconds
ACCOUNT_SESSION_REMEMBER = True  # SESSION_COOKIE_AGE applies
