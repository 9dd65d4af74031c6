"""Sections of the policy page, one form each."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import ValidationError
from django.utils.functional import Promise
from django.utils.text import capfirst, format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import Account, ApiKey, Redaction
from kmapp.web.forms import Styled
from memory.models import MemoryEntry, MemorySettings
from memory.models.settings import (
    DAILY_WRITES,
    MAX_INJECTED,
    MAX_INSTRUCTIONS_LENGTH,
    MAX_RETENTION_DAYS,
    OPEN_PROPOSALS,
    validate_categories,
)

Visibility = MemoryEntry.Visibility


def _share(label: Any, help_text: Any) -> forms.FloatField:
    return forms.FloatField(
        label=label,
        min_value=0,
        max_value=1,
        help_text=help_text,
        widget=forms.NumberInput(attrs={"step": "0.01", "inputmode": "decimal"}),
    )


def _number(label: Any, help_text: Any) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        min_value=1,
        max_value=2**31 - 1,
        required=False,
        help_text=help_text,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )


def _many(label: Any, choices: Any, help_text: Any = "") -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(
        label=label,
        choices=[(value, capfirst(name)) for value, name in choices],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=help_text,
    )


class Section(Styled):
    """Some of the policies. `lead` says what for."""

    title: str | Promise = ""
    lead: str | Promise = ""

    @classmethod
    def of(cls, settings: MemorySettings, data: Any = None) -> "Section":
        """With the account's values, or with what somebody sent."""
        return cls(data, initial=cls.values_of(settings), prefix=None)

    @classmethod
    def values_of(cls, settings: MemorySettings) -> dict[str, Any]:
        return {name: getattr(settings, name) for name in cls.base_fields}

    def values(self) -> dict[str, Any]:
        """Return the submitted policy values."""
        return dict(self.cleaned_data)


class ReviewSection(Section):
    title = _("What waits for a person")
    lead = _(
        "Agents propose these and a reviewer decides. All else is remembered at once. "
        "What people write themselves never waits."
    )
    visibilities = _many(_("By who would see it"), Visibility.choices)
    review_kinds = _many(_("By kind, whoever would see it"), MemoryEntry.Kind.choices)
    review_keys = _many(_("By the key that writes it"), ())

    @classmethod
    def of(cls, settings: MemorySettings, data: Any = None) -> "Section":
        form = super().of(settings, data)
        keys = ApiKey.objects.of(settings.account_id).filter(revoked_at=None).order_by("name", "pk")
        key_choices = [(str(key.pk), str(key)) for key in keys]
        gone = sorted(set(settings.review_keys) - {pk for pk, _name in key_choices})
        field = form.fields["review_keys"]
        assert isinstance(field, forms.MultipleChoiceField)  # noqa: S101 - for the types
        field.choices = [*key_choices, *((pk, _("a key that is gone")) for pk in gone)]
        return form

    @classmethod
    def values_of(cls, settings: MemorySettings) -> dict[str, Any]:
        """One list of visibilities, of which the widest stands in the account."""
        everyones = settings.account.account_wide == Account.Policy.PROPOSE
        return {
            "visibilities": [*settings.review_visibilities, *([Visibility.ACCOUNT] * everyones)],
            "review_kinds": settings.review_kinds,
            "review_keys": settings.review_keys,
        }

    def values(self) -> dict[str, Any]:
        cleaned = dict(self.cleaned_data)
        chosen = set(cleaned.pop("visibilities"))
        wide = Account.Policy.PROPOSE if Visibility.ACCOUNT in chosen else Account.Policy.APPLY
        narrow = sorted(chosen - {Visibility.ACCOUNT.value})
        return cleaned | {"account_wide": wide.value, "review_visibilities": narrow}


class RedactionSection(Section):
    title = _("What is blacked out")
    lead = _(
        "Found in a text, it is replaced before the text is kept: in memories, reasons and inputs. "
        "What is kept already stays as it is."
    )
    redact = _many(_("Black out"), Redaction.choices)

    @classmethod
    def values_of(cls, settings: MemorySettings) -> dict[str, Any]:
        return {"redact": settings.account.redact}


class RetentionSection(Section):
    """A field of days for each kind."""

    title = _("How long memories are kept")
    lead = _(
        "A memory that nobody changed for so many days is forgotten within the hour. It leaves no "
        "answer behind, and a person can take it back. Pinned memories stay. Empty: for good."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for value, label in MemoryEntry.Kind.choices:
            self.fields[value] = forms.IntegerField(
                label=capfirst(label),
                min_value=1,
                max_value=MAX_RETENTION_DAYS,
                required=False,
                widget=forms.NumberInput(attrs={"inputmode": "numeric", "class": "form-control"}),
            )

    @classmethod
    def values_of(cls, settings: MemorySettings) -> dict[str, Any]:
        return dict(settings.forget_after)

    def values(self) -> dict[str, Any]:
        return {"forget_after": {kind: days for kind, days in self.cleaned_data.items() if days}}


class ThresholdSection(Section):
    title = _("When a proposal is flagged")
    lead = _("A flag shows its evidence to the reviewer. It never decides by itself.")
    duplicate_score = _share(
        _("Near-duplicate from"),
        _("Likeness of words and meanings together, 0 to 1: from here on, the same."),
    )
    contradiction_score = _share(
        _("Possible contradiction from"),
        _("Likeness of the meanings, 0 to 1: from here on, looked at for what disagrees."),
    )


class QuotaSection(Section):
    title = _("How much one key may write")
    lead = _(
        "A flood from one agent must not bury the others' memories, nor the reviewers. Beyond it "
        "the agent is refused and told why. Empty: the usual."
    )
    daily_writes = _number(
        _("Memories within a day"),
        format_lazy(_("Usually {number}."), number=intcomma(DAILY_WRITES)),
    )
    open_proposals = _number(
        _("Proposals that wait for a person"),
        format_lazy(_("Usually {number}."), number=intcomma(OPEN_PROPOSALS)),
    )


class UseSection(Section):
    title = _("What agents do with memory")
    lead = _("What holds unless a request says otherwise.")
    memory_enabled = forms.BooleanField(
        label=_("Put memories into prompts (inject)"), required=False
    )
    auto_store = forms.BooleanField(
        label=_("After a task, store by itself what is worth keeping"), required=False
    )
    store_threshold = _share(
        _("Least worth that is stored"), _("0 to 1. What is worth less is dropped and reported.")
    )
    inject_max_memories = forms.IntegerField(
        label=_("Memories put into a prompt, at most"), min_value=1, max_value=MAX_INJECTED
    )
    min_score = _share(
        _("Least score of what is put into a prompt"),
        _("0 to 1. A search says for itself how good its answers must be."),
    )


class ExtractionSection(Section):
    title = _("What is taken from conversations")
    lead = _(
        "A model notes facts from what agents hand over. It is told this beside our own words. "
        "What it notes is checked all the same."
    )
    instructions = forms.CharField(
        label=_("What to note beside, or to leave out"),
        required=False,
        max_length=MAX_INSTRUCTIONS_LENGTH,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("In plain words, such as: note the numbers of orders; leave out prices."),
    )
    categories = forms.CharField(
        label=_("Categories"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text=_(
            "One a line, as “orders: what was bought and when”. They become tags, and a fact of "
            "no category is refused. Empty: the usual ones."
        ),
    )

    @classmethod
    def values_of(cls, settings: MemorySettings) -> dict[str, Any]:
        lines = [f"{name}: {what}" for name, what in settings.categories.items()]
        return {"instructions": settings.instructions, "categories": "\n".join(lines)}

    def clean_categories(self) -> dict[str, str]:
        sections = {}
        for line in filter(None, map(str.strip, self.cleaned_data["categories"].splitlines())):
            name, _colon, what = (
                part.strip() for part in line.replace("：", ":", 1).partition(":")
            )
            if not name or not what:
                raise ValidationError(
                    gettext("Write “name: what belongs to it”; this line is not so: %(line)s")
                    % {"line": line[:60]}
                )
            sections[name] = what
        validate_categories(sections)
        return sections


SECTIONS: Mapping[str, type[Section]] = {
    "review": ReviewSection,
    "redaction": RedactionSection,
    "retention": RetentionSection,
    "flags": ThresholdSection,
    "quotas": QuotaSection,
    "use": UseSection,
    "extraction": ExtractionSection,
}
