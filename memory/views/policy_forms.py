"""Sections of the policy page, one form each."""

import re
from collections.abc import Mapping
from typing import Any, Self

from django import forms
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import ValidationError
from django.utils.text import capfirst, format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import Account, ApiKey, Redaction
from kmapp.web.forms import SettingsForm
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


def _unit_interval(label: Any, help_text: Any) -> forms.FloatField:
    return forms.FloatField(
        label=label,
        min_value=0,
        max_value=1,
        help_text=help_text,
        widget=forms.NumberInput(attrs={"step": "0.01", "inputmode": "decimal"}),
    )


def _positive_integer(
    label: Any, help_text: Any = "", *, max_value: int = 2**31 - 1
) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        min_value=1,
        max_value=max_value,
        required=False,
        help_text=help_text,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )


def _checkboxes(label: Any, choices: Any) -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(
        label=label,
        choices=[(value, capfirst(name)) for value, name in choices],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )


class ReviewSection(SettingsForm):
    title = _("Review policy")
    lead = _(
        "Memories that match need a reviewer's approval. All others are stored "
        "immediately. Memories written by people never need review."
    )
    visibilities = _checkboxes(_("By visibility"), Visibility.choices)
    review_kinds = _checkboxes(_("By kind, with any visibility"), MemoryEntry.Kind.choices)
    review_keys = _checkboxes(_("By API key"), ())

    @classmethod
    def of(cls, settings: MemorySettings, data: Any = None) -> Self:
        form = super().of(settings, data)
        keys = ApiKey.objects.of(settings.account_id).filter(revoked_at=None).order_by("name", "pk")
        key_choices = [(str(key.pk), str(key)) for key in keys]
        deleted = sorted(set(settings.review_keys) - {pk for pk, _name in key_choices})
        field = form.fields["review_keys"]
        assert isinstance(field, forms.MultipleChoiceField)  # noqa: S101 - for the types
        field.choices = [*key_choices, *((pk, _("a deleted key")) for pk in deleted)]
        return form

    @classmethod
    def values_of(cls, settings: MemorySettings) -> dict[str, Any]:
        """Return the values. The account stores whether account-wide memories need review."""
        visibilities = list(settings.review_visibilities)
        if settings.account.account_wide == Account.Policy.PROPOSE:
            visibilities.append(Visibility.ACCOUNT)
        return {
            "visibilities": visibilities,
            "review_kinds": settings.review_kinds,
            "review_keys": settings.review_keys,
        }

    def values(self) -> dict[str, Any]:
        cleaned = dict(self.cleaned_data)
        chosen = set(cleaned.pop("visibilities"))
        policy = Account.Policy.PROPOSE if Visibility.ACCOUNT in chosen else Account.Policy.APPLY
        others = sorted(chosen - {Visibility.ACCOUNT.value})
        return cleaned | {"account_wide": policy.value, "review_visibilities": others}


class AccountSection(SettingsForm):
    """Settings that the account stores, because other apps apply them too."""

    @classmethod
    def values_of(cls, settings: MemorySettings) -> dict[str, Any]:
        return super().values_of(settings.account)


class RedactionSection(AccountSection):
    title = _("Redaction")
    lead = _(
        "Matches in memories, reasons and inputs are replaced before the text is stored. "
        "Stored text does not change."
    )
    redact = _checkboxes(_("Redact"), Redaction.choices)


class RetentionSection(SettingsForm):
    title = _("Retention")
    lead = _(
        "Memories that nobody changed for this many days are forgotten within the hour; "
        "a person can restore them. Pinned memories stay. Leave empty for no limit."
    )

    def add_fields(self) -> None:
        for value, label in MemoryEntry.Kind.choices:
            self.fields[value] = _positive_integer(capfirst(label), max_value=MAX_RETENTION_DAYS)

    @classmethod
    def values_of(cls, settings: MemorySettings) -> dict[str, Any]:
        return dict(settings.forget_after)

    def values(self) -> dict[str, Any]:
        return {"forget_after": {kind: days for kind, days in self.cleaned_data.items() if days}}


class ThresholdSection(SettingsForm):
    title = _("Flags on proposals")
    lead = _("A flag shows the reviewer its evidence. It never decides on its own.")
    duplicate_score = _unit_interval(
        _("Near-duplicate threshold"),
        _(
            "Similarity of keywords and meaning, from 0 to 1. Memories at or above it count "
            "as duplicates."
        ),
    )
    contradiction_score = _unit_interval(
        _("Contradiction threshold"),
        _(
            "Similarity of meaning, from 0 to 1. Memories at or above it are checked for "
            "contradictions."
        ),
    )


class QuotaSection(SettingsForm):
    title = _("Write quotas per key")
    lead = _(
        "Limits keep one agent from flooding memories and the review queue. Requests "
        "over the limit are refused with an error. Leave empty for the default."
    )
    daily_writes = _positive_integer(
        _("Memories per day"), format_lazy(_("Default: {number}."), number=intcomma(DAILY_WRITES))
    )
    open_proposals = _positive_integer(
        _("Pending proposals"),
        format_lazy(_("Default: {number}."), number=intcomma(OPEN_PROPOSALS)),
    )


class UseSection(SettingsForm):
    title = _("Use of memory by agents")
    lead = _("Defaults for requests that do not set these values.")
    memory_enabled = forms.BooleanField(label=_("Inject memories into prompts"), required=False)
    auto_store = forms.BooleanField(
        label=_("Store useful results automatically after a task"), required=False
    )
    store_threshold = _unit_interval(
        _("Minimum value to store"),
        _("From 0 to 1. Facts with a lower value are dropped and reported."),
    )
    inject_max_memories = forms.IntegerField(
        label=_("Maximum memories per prompt"), min_value=1, max_value=MAX_INJECTED
    )
    min_score = _unit_interval(
        _("Minimum score for prompts"),
        _("From 0 to 1. Search requests set their own minimum score."),
    )


class ExtractionSection(SettingsForm):
    title = _("Extraction")
    lead = _(
        "A model extracts facts from conversations. These instructions are added to the "
        "built-in prompt. Extracted facts are always checked."
    )
    instructions = forms.CharField(
        label=_("Additional instructions"),
        required=False,
        max_length=MAX_INSTRUCTIONS_LENGTH,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("For example: record order numbers; leave out prices."),
    )
    categories = forms.CharField(
        label=_("Categories"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text=_(
            "One per line, for example “orders: what was bought and when”. Categories become "
            "tags; facts without a category are refused. Leave empty for the defaults."
        ),
    )

    @classmethod
    def values_of(cls, settings: MemorySettings) -> dict[str, Any]:
        lines = [f"{name}: {what}" for name, what in settings.categories.items()]
        return {"instructions": settings.instructions, "categories": "\n".join(lines)}

    def clean_categories(self) -> dict[str, str]:
        sections = {}
        for line in filter(None, map(str.strip, self.cleaned_data["categories"].splitlines())):
            name, *more = (part.strip() for part in re.split("[:：]", line, maxsplit=1))
            what = "".join(more)
            if not name or not what:
                raise ValidationError(
                    gettext("Use the form “name: description”. Check this line: %(line)s")
                    % {"line": line[:60]}
                )
            sections[name] = what
        validate_categories(sections)
        return sections


class VerificationSection(AccountSection):
    title = _("Verification")
    lead = _(
        "The ledger seals every memory, document and rule when it is written. With verification, "
        "agents get only what still matches its seal. A row that someone changed in the database "
        "is withheld and reported on Operations."
    )
    verify_on_read = forms.BooleanField(
        label=_("Verify before agents read"),
        required=False,
        help_text=_("Searches take about a tenth longer."),
    )


SECTIONS: Mapping[str, type[SettingsForm]] = {
    "review": ReviewSection,
    "redaction": RedactionSection,
    "retention": RetentionSection,
    "flags": ThresholdSection,
    "quotas": QuotaSection,
    "use": UseSection,
    "extraction": ExtractionSection,
    "verification": VerificationSection,
}
