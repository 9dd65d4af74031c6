"""Forms for API keys, webhooks, the ledger, members, passwords and sign-in."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.contrib.auth.password_validation import validate_password
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import Membership, User
from kmapp.accounts.scopes import GRANTABLE_SCOPES, Scope
from kmapp.errors import DomainError
from kmapp.notifications.webhooks.change_registry import list_event_types
from kmapp.notifications.webhooks.payloads import NATIVE
from kmapp.notifications.webhooks.slack import FORMAT as SLACK
from kmapp.security.egress.allowed_urls import ANY_HOST, MAX_LENGTH

if TYPE_CHECKING:
    ChosenPasswordForm = SetPasswordForm[User]
else:
    ChosenPasswordForm = SetPasswordForm

EXPIRIES = [
    ("", _("Never")),
    ("30", _("In 30 days")),
    ("90", _("In 90 days")),
    ("365", _("In a year")),
]


def list_choices() -> list[tuple[str, Any]]:
    return list(list_event_types().items())


# The CSS class of a widget; the first match applies, as some widgets inherit from others.
STYLES = (
    (forms.CheckboxSelectMultiple, "checks"),
    (forms.CheckboxInput, "check"),
    (forms.Select, "form-select"),
    (forms.Widget, "form-control"),
)


class Styled(forms.Form):
    """A form whose fields have the CSS classes of their widgets."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.add_fields()
        for field in self.fields.values():
            style = next((css for widget, css in STYLES if isinstance(field.widget, widget)))
            field.widget.attrs.setdefault("class", style)

    def add_fields(self) -> None:
        """Add fields that depend on the arguments of the form."""


class SettingsForm(Styled):
    """Some settings of a row, with the heading and the description of their section."""

    title: str | Promise = ""
    lead: str | Promise = ""

    @classmethod
    def of(cls, settings: Any, data: Any = None) -> Self:
        return cls(data, initial=cls.values_of(settings))

    @classmethod
    def values_of(cls, settings: Any) -> dict[str, Any]:
        return {name: getattr(settings, name) for name in cls.base_fields}

    def values(self) -> dict[str, Any]:
        return dict(self.cleaned_data)


class KeyForm(Styled):
    name = forms.CharField(
        label=_("Name"),
        max_length=100,
        help_text=_("The agent or service that uses this key; the ledger shows this name."),
    )
    scopes = forms.MultipleChoiceField(
        label=_("Permissions"),
        choices=[(scope.value, scope.label) for scope in GRANTABLE_SCOPES],
        widget=forms.CheckboxSelectMultiple,
        initial=[Scope.MEMORY_READ, Scope.MEMORY_WRITE],
    )
    expires = forms.ChoiceField(label=_("Expiration"), choices=EXPIRIES, required=False)

    def expires_at(self) -> Any:
        days = self.cleaned_data["expires"]
        return timezone.now() + timedelta(days=int(days)) if days else None


class WebhookForm(SettingsForm):
    name = forms.CharField(label=_("Name"), max_length=100)
    url = forms.CharField(label=_("URL"), max_length=MAX_LENGTH)
    event_types = forms.MultipleChoiceField(
        label=_("Events"), choices=list_choices, widget=forms.CheckboxSelectMultiple
    )
    payload_format = forms.ChoiceField(
        label=_("Format"),
        required=False,
        choices=[(NATIVE, _("kmapp: signed JSON")), (SLACK, _("Slack-compatible messages"))],
        help_text=_("It cannot be changed later."),
    )
    is_active = forms.BooleanField(label=_("Active"), required=False, initial=True)
    commit_id = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        allowed = [*settings.WEBHOOK_HOSTS, *settings.WEBHOOK_PRIVATE]
        hosts = [gettext("every public host") if host == ANY_HOST else host for host in allowed]
        if hosts:
            text = gettext("Events are sent to it, signed. Allowed hosts: %(hosts)s")
            self.fields["url"].help_text = text % {"hosts": ", ".join(hosts)}
        else:
            self.fields["url"].help_text = gettext(
                "No host is allowed yet: the operator lists them in WEBHOOK_HOSTS."
            )

    def add_refusal(self, refusal: DomainError) -> None:
        """Show a refusal beside the field that it is about, or above the form."""
        path = refusal.issues[0]["path"] if refusal.issues else None
        self.add_error(path if path in self.fields else None, refusal.message)


class AcceptLossForm(Styled):
    """Why a ledger that is not the signed one is accepted."""

    reason = forms.CharField(
        label=_("Reason"),
        max_length=500,
        help_text=_("For example which copy was put back, and why. The ledger records it."),
    )


class AccountForm(Styled):
    name = forms.CharField(label=_("Name"), max_length=100)


class NewAccountForm(AccountForm):
    slug = forms.SlugField(
        label=_("Short name"),
        max_length=50,
        required=False,
        help_text=_(
            "Letters, digits and hyphens, for clients that name their account. It cannot be "
            "changed later. Leave it empty to derive it from the name."
        ),
    )

    def clean_slug(self) -> str:
        return str(self.cleaned_data["slug"]).lower()


class MemberForm(Styled):
    """Form for adding a member, with or without an existing login."""

    email = forms.EmailField(label=_("E-mail"), max_length=150)  # also the username
    role = forms.ChoiceField(
        label=_("Role"), choices=Membership.Role.choices, initial=Membership.Role.REVIEWER
    )
    name = forms.CharField(label=_("Name"), max_length=150, required=False)
    password = forms.CharField(
        label=_("Initial password"),
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("Required for new users, who can change it later in the user menu."),
    )

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if password:
            validate_password(password)
        return password


class InvitationForm(Styled):
    email = forms.EmailField(label=_("E-mail"), max_length=150)  # also the username
    role = forms.ChoiceField(
        label=_("Role"), choices=Membership.Role.choices, initial=Membership.Role.REVIEWER
    )
    language = forms.ChoiceField(label=_("Language of the message"), choices=settings.LANGUAGES)


class NewLoginForm(Styled, ChosenPasswordForm):
    """Form of an invited person who has no login yet."""

    name = forms.CharField(
        label=_("Name"),
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    field_order = ("name",)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        self.user.first_name = name
        return name


class PasswordForm(Styled, PasswordChangeForm):
    """Form for changing one's own password, confirmed by the current one."""


class SignInForm(Styled, AuthenticationForm):
    """Sign-in by username or e-mail address."""

    error_messages = {
        "invalid_login": _("Name and password do not match. Check both and try again."),
        "inactive": _("This user is deactivated and cannot sign in. Ask an admin."),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = _("Name or e-mail")

    def clean_username(self) -> str:
        username: str = self.cleaned_data["username"]
        match = (
            User.objects.filter(email__iexact=username).values_list("username", flat=True).first()
        )
        return match or username
