"""Password validator that estimates the guesses of an attacker with lists of leaked passwords."""

from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from zxcvbn_rs_py import zxcvbn

from kmapp.accounts.models import User, list_account_access

MIN_GUESSES_LOG10 = 10  # what zxcvbn calls "very unguessable" (score 4)
MAX_LENGTH = 100  # a longer password is estimated by its beginning; time grows with the length


class GuessableValidator:
    """Refuse passwords made of leaked passwords, dictionary words, names, patterns or context.

    The lists are part of the zxcvbn package, so nothing is sent to a service. Words of the context
    are the product's name, the person's name and address, and the names of their accounts.
    """

    def validate(self, password: str, user: Any = None) -> None:
        estimate = zxcvbn(password[:MAX_LENGTH], _context_words(user))
        if estimate.guesses_log10 < MIN_GUESSES_LOG10:
            raise ValidationError(
                _(
                    "This password is easy to guess: it consists of leaked passwords, common "
                    "words, names or patterns. Use several unrelated words, or a password manager."
                ),
                code="password_guessable",
            )

    def get_help_text(self) -> str:
        return _("Your password cannot consist of leaked passwords, names or simple patterns.")


def _context_words(user: Any) -> list[str]:
    if not isinstance(user, User):
        return ["kmapp"]
    names = [user.username, user.first_name, user.last_name, *user.email.lower().split("@")]
    names += [text for access in list_account_access(user) for text in (access.name, access.slug)]
    return ["kmapp", *(name for name in names if name)]
