"""Evidence for the review of a proposal, found by a worker."""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from kmapp.security.pii import KINDS
from memory.models import Finding, MemoryEntry, Triage
from memory.review.merge import has_same_audience
from memory.review.replaced_memories import ReplacedMemories, load_replaced

Kind = Finding.Kind
CURRENT_STATUSES = frozenset({MemoryEntry.Status.ACTIVE, MemoryEntry.Status.PROPOSED})

# Texts for a reviewer about the flags of kmapp.security.prompt_injection.
WARNING_TEXTS = {
    "hidden_characters": _(
        "Contains invisible characters that a model reads but people cannot see."
    ),
    "bidi_controls": _("Contains marks that change the display order of letters."),
    "tag_characters": _("Contains invisible tag characters, which can hide a message from people."),
    "mixed_scripts": _("Mixes Latin and Cyrillic letters in one word, which can look alike."),
    "instructions": _("Contains instructions to the model instead of information."),
    "role_markup": _("Contains markup that imitates a system or assistant message."),
    "tool_call": _("Contains text that looks like a tool call."),
    "remote_content": _("Links to external content that is loaded when displayed."),
    "encoded_text": _("Contains encoded text that decodes to sentences."),
    "flood": _("One of many near-identical texts from one writer within a day."),
    "look_alike": _(
        "The agent's name closely resembles that of another agent whose memories are "
        "visible to everyone."
    ),
}
PERSONAL_DATA_TEXTS = {
    "email": _("Contains an email address."),
    "phone": _("Contains a phone number."),
    "card": _("Contains a bank card number."),
    "id": _("Contains an identity number."),
    "secret": _("Contains a key or a token."),
}
UNKNOWN_WARNING_TEXT = _("Flagged for a second review.")
REDACTION_PATTERN = re.compile(rf"\[(?:{'|'.join(KINDS)})\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewWarning:
    """A warning, with the passage that caused it."""

    text: str | Promise
    excerpt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewEvidence:
    warnings: Sequence[ReviewWarning]
    blacked_out: bool  # personal data was redacted before the text was stored
    replaces: Sequence[MemoryEntry]  # what approval would supersede, or the first of them
    more_replaced: int  # others that approval would supersede
    others: Sequence[Finding]  # findings that compare it with another current memory
    twin: MemoryEntry | None  # the memory that it could be merged with
    triage: Triage | None  # None: not triaged yet
    metadata: str  # as JSON, or nothing

    @property
    def before(self) -> MemoryEntry | None:
        """Return the memory that this proposal rewords."""
        return self.replaces[0] if self.replaces else None


def load_evidence(entry: MemoryEntry) -> ReviewEvidence:
    """Return the evidence for a proposal, without memories decided since."""
    findings = Finding.objects.of(entry.account_id).filter(entry=entry)
    rows = list(findings.select_related("other").order_by("-score", "pk"))
    is_update = getattr(entry, "is_update", True)
    replaced = load_replaced(entry) if is_update else ReplacedMemories()
    triage = getattr(entry, "triage", None)
    others = _list_similar(rows, {each.pk for each in replaced.first})
    similar = [each.other for each in others if each.other]
    return ReviewEvidence(
        warnings=_list_triage_warnings(entry, rows, triage),
        blacked_out=bool(REDACTION_PATTERN.search(entry.content)),
        replaces=replaced.first,
        more_replaced=replaced.more,
        others=others,
        twin=next((other for other in similar if has_same_audience(entry, other)), None),
        triage=triage,
        metadata=json.dumps(entry.slots, indent=2, ensure_ascii=False) if entry.slots else "",
    )


def _list_similar(findings: Sequence[Finding], replaced: Collection[UUID]) -> list[Finding]:
    """Return contradictions first, then duplicates, then similar memories. All are current.

    Those that approval would supersede are left out, except contradictions.
    """
    now = timezone.now()
    order = [Kind.CONTRADICTION, Kind.UPDATE, Kind.DUPLICATE, Kind.SIMILAR]
    current = [
        each
        for each in findings
        if each.other
        and each.other.status in CURRENT_STATUSES
        and all(end is None or end > now for end in (each.other.expires_at, each.other.valid_to))
        and (each.kind == Kind.CONTRADICTION or each.other.pk not in replaced)
    ]
    return sorted(current, key=lambda each: (order.index(Kind(each.kind)), -each.score))


def list_warnings(entry: MemoryEntry) -> list[str | Promise]:
    """Return the warnings that were stored with the text."""
    return [WARNING_TEXTS.get(name, UNKNOWN_WARNING_TEXT) for name in entry.flags]


def _list_triage_warnings(
    entry: MemoryEntry, rows: Sequence[Finding], triage: Triage | None
) -> list[ReviewWarning]:
    """Return the warnings of the last triage; before it, the flags stored with the text."""
    if triage is None or triage.version != entry.version:
        return [ReviewWarning(text=text) for text in list_warnings(entry)]
    sentences = WARNING_TEXTS | PERSONAL_DATA_TEXTS
    return [
        ReviewWarning(
            text=sentences.get(row.name, UNKNOWN_WARNING_TEXT),
            excerpt=row.details.get("excerpt", ""),
        )
        for row in sorted(rows, key=lambda row: row.pk)
        if row.kind in (Kind.RISK, Kind.PERSONAL)
    ]
