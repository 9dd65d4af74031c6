"""Sign-in form."""

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import User


class SignInForm(AuthenticationForm):
    """Sign-in by username or e-mail address."""

    error_messages = {
        "invalid_login": _("Name and password do not match. Check both and try again."),
        "inactive": _("This user is deactivated and cannot sign in. Ask an admin."),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = _("Name or e-mail")
        for field in self.fields.values():
            field.widget.attrs["class"] = "form-control"

    def clean_username(self) -> str:
        username: str = self.cleaned_data["username"]
        match = (
            User.objects.filter(email__iexact=username).values_list("username", flat=True).first()
        )
        return match or username
