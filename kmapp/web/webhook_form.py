"""The form of a webhook."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kmapp.errors import DomainError
from kmapp.notifications.webhooks.change_registry import list_event_types
from kmapp.notifications.webhooks.payloads import NATIVE
from kmapp.notifications.webhooks.slack import FORMAT as SLACK
from kmapp.security.egress.allowed_urls import ANY_HOST, MAX_LENGTH
from kmapp.web.forms import SettingsForm


def list_choices() -> list[tuple[str, Any]]:
    return list(list_event_types().items())


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
