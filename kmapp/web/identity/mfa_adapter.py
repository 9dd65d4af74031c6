"""Behaviour of allauth's second factors: encryption at rest, names, who must keep one."""

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kmapp.accounts.models import User, list_account_access
from kmapp.accounts.second_factor import FACTORS
from kmapp.database.encryption import DecryptionFailed, decrypt_text, encrypt_text
from kmapp.errors import Conflict


class MFAAdapter(DefaultMFAAdapter):
    error_messages = {
        **DefaultMFAAdapter.error_messages,
        "cannot_delete_authenticator": gettext_lazy(
            "One of your accounts requires a second factor. Add another one before you remove this."
        ),
        "incorrect_code": gettext_lazy(
            "The code or passkey was not accepted: it is wrong, or was used already. Try again."
        ),
    }

    def encrypt(self, text: str) -> str:
        return encrypt_text(text)

    def decrypt(self, encrypted_text: str) -> str:
        """Decrypt a secret. Raise Conflict if this installation no longer has its key."""
        try:
            return decrypt_text(encrypted_text)
        except DecryptionFailed as error:
            raise Conflict(
                _(
                    "Your authenticator app and your recovery codes can no longer be checked, "
                    "because the secret key of kmapp has changed. Use a passkey, or ask an admin "
                    "to remove your second factor."
                )
            ) from error

    def get_totp_issuer(self) -> str:
        return "kmapp"

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:  # noqa: A002 - allauth's name
        number = Authenticator.objects.filter(user=user, type=type).count() + 1
        return _("Passkey %(number)d") % {"number": number}

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        """Return whether the person has another factor or needs none."""
        others = Authenticator.objects.filter(user=authenticator.user_id, type__in=FACTORS)
        if others.exclude(pk=authenticator.pk).exists():
            return True
        accounts = list_account_access(authenticator.user)
        return not any(access.require_second_factor for access in accounts)
