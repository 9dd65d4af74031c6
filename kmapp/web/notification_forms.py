"""The form in which a person chooses their notifications."""

from collections.abc import Iterator, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from kmapp.notifications.kinds import Email, EventKind
from kmapp.notifications.models import NotificationSettings
from kmapp.web.forms import Styled


class NotificationSettingsForm(Styled):
    """A table of kinds and channels, and when the digest is sent."""

    sends_email = forms.BooleanField(label=_("Send me e-mails about this account"), required=False)
    digest = forms.ChoiceField(
        label=_("Digest e-mail"), choices=NotificationSettings.Digest.choices
    )
    hour = forms.TypedChoiceField(
        label=_("Time"), coerce=int, choices=[(hour, f"{hour:02}:00") for hour in range(24)]
    )

    def __init__(
        self, data: Any = None, *, settings: NotificationSettings, kinds: Sequence[EventKind]
    ) -> None:
        self.settings, self.kinds = settings, kinds
        names = ("sends_email", "digest", "hour")
        initial: dict[str, Any] = {name: getattr(settings, name) for name in names}
        for kind in kinds:
            initial[_build_page_field_name(kind)] = kind.name not in settings.page_off
            initial[_build_email_field_name(kind)] = settings.email.get(kind.name, kind.email)
        super().__init__(data, initial=initial)

    def add_fields(self) -> None:
        for kind in self.kinds:
            where = {"aria-label": f"{kind.label}: {_('On pages')}"}
            how = {"aria-label": f"{kind.label}: {_('By e-mail')}"}
            self.fields[_build_page_field_name(kind)] = forms.BooleanField(
                required=False, widget=forms.CheckboxInput(attrs=where)
            )
            self.fields[_build_email_field_name(kind)] = forms.ChoiceField(
                choices=Email.choices, widget=forms.Select(attrs=how)
            )

    def rows(self) -> Iterator[tuple[EventKind, forms.BoundField, forms.BoundField]]:
        """Yield each kind with its fields."""
        for kind in self.kinds:
            yield kind, self[_build_page_field_name(kind)], self[_build_email_field_name(kind)]

    def values(self) -> dict[str, Any]:
        """Return the choices; those of kinds that this person may not see stay as they are."""
        chosen, own = self.cleaned_data, {kind.name for kind in self.kinds}
        off = {kind.name for kind in self.kinds if not chosen[_build_page_field_name(kind)]}
        others = {name: mode for name, mode in self.settings.email.items() if name not in own}
        return {
            "sends_email": chosen["sends_email"],
            "digest": chosen["digest"],
            "hour": chosen["hour"],
            "page_off": sorted(off | (set(self.settings.page_off) - own)),
            "email": others
            | {kind.name: chosen[_build_email_field_name(kind)] for kind in self.kinds},
        }


def _build_page_field_name(kind: EventKind) -> str:
    return f"page-{kind.name}"


def _build_email_field_name(kind: EventKind) -> str:
    return f"email-{kind.name}"
