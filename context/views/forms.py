"""The forms of context's pages."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from context.models import ContextSettings
from context.models.settings import LONGEST, LONGEST_KEPT, Language, check_thresholds
from kmapp.web.forms import Styled

NAMES = (
    *("archive_threshold", "tool_thresholds", "retention_days"),
    *("across_conversations", "language"),
)


class ByTool(forms.CharField):
    """A number for each tool, one a line: `search_manual 20000`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, widget=forms.Textarea(attrs={"rows": 3}), **kwargs)

    def prepare_value(self, value: Any) -> Any:
        """The lines of what is set."""
        if not isinstance(value, dict):
            return value
        return "\n".join(f"{name} {number}" for name, number in sorted(value.items()))

    def clean(self, value: Any) -> dict[str, int]:
        """Names and numbers."""
        found = {}
        for line in super().clean(value).splitlines():
            name, _space, number = line.strip().rpartition(" ")
            if line.strip():
                if not name or not number.isdecimal() or len(number) > len(str(LONGEST)):
                    raise ValidationError(_now("Write a tool and a number on each line."))
                found[name.strip()] = int(number)
        check_thresholds(found)
        return found


class KeepingForm(Styled):
    """From which length a tool result is kept apart, and how long it stays."""

    archive_threshold = forms.IntegerField(
        label=_("Kept apart above, in characters"), min_value=0, max_value=LONGEST
    )
    tool_thresholds = ByTool(
        label=_("Other lengths, by tool"),
        help_text=_("One a line: the tool and its characters, such as “search_manual 20000”."),
    )
    retention_days = forms.IntegerField(
        label=_("Kept for, in days"),
        min_value=1,
        max_value=LONGEST_KEPT,
        required=False,
        help_text=_("Then they are erased for good. Empty: they stay."),
    )
    across_conversations = forms.BooleanField(
        label=_("Agents may find tool results of other conversations"), required=False
    )
    language = forms.ChoiceField(label=_("Language of placeholders"), choices=Language.choices)

    @classmethod
    def of(cls, settings: ContextSettings) -> "KeepingForm":
        return cls(initial={name: getattr(settings, name) for name in NAMES})
