"""Form of the retention settings."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from context.models.settings import MAX_LENGTH, MAX_RETENTION_DAYS, Language, check_thresholds
from kmapp.web.forms import SettingsForm


class ThresholdsField(forms.CharField):
    """A number for each tool, one per line: `search_manual 20000`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, widget=forms.Textarea(attrs={"rows": 3}), **kwargs)

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return "\n".join(f"{name} {number}" for name, number in sorted(value.items()))

    def clean(self, value: Any) -> dict[str, int]:
        thresholds = {}
        for line in super().clean(value).splitlines():
            name, _space, number = line.strip().rpartition(" ")
            if line.strip():
                if not name or not number.isdecimal() or len(number) > len(str(MAX_LENGTH)):
                    raise ValidationError(gettext("Write a tool and a number on each line."))
                thresholds[name.strip()] = int(number)
        check_thresholds(thresholds)
        return thresholds


class RetentionForm(SettingsForm):
    archive_threshold = forms.IntegerField(
        label=_("Archive results longer than (characters)"), min_value=0, max_value=MAX_LENGTH
    )
    tool_thresholds = ThresholdsField(
        label=_("Thresholds by tool"),
        help_text=_(
            "Enter one tool per line with its number of characters, for example "
            "“search_manual 20000”."
        ),
    )
    retention_days = forms.IntegerField(
        label=_("Retention (days)"),
        min_value=1,
        max_value=MAX_RETENTION_DAYS,
        required=False,
        help_text=_(
            "Tool results are permanently erased after this time; leave empty to keep them."
        ),
    )
    across_conversations = forms.BooleanField(
        label=_("Agents can search tool results from other conversations"), required=False
    )
    language = forms.ChoiceField(label=_("Placeholder language"), choices=Language.choices)
