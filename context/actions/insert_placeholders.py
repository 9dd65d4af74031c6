"""Replacement of tool results by placeholders: long ones, which are archived, and loaded ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from context.actions.archives import store_archives
from context.actions.match_archived_results import build_new_results, find_archived_results
from context.archives.placeholders import render_placeholder
from context.archives.retrieval import readable_archives
from context.archives.tool_result_selection import (
    build_replacements,
    find_references,
    list_older_slots,
    list_oversized_slots,
    slot_position,
)
from context.assembly.messages import Message, list_slots, replace_texts
from context.models import ContextSettings, ToolResultArchive
from context.models.archives import ArchiveScope
from kmapp.accounts.actors import Actor

MISSING = "missing"  # the part of a result that does not exist


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    within: ArchiveScope
    agent_id: str = ""
    keep_turns: int = 1
    query: str = ""  # without one, the last user message
    load: str = "none"  # none, keywords, semantic, hybrid
    load_uuids: Sequence[UUID] = ()
    load_limit: int = 1
    max_tokens: int | None = None  # per result: passages about the query
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The messages, the archives involved, and the decisions."""

    messages: list[Message]
    archived: Sequence[ToolResultArchive]
    new_ids: frozenset[UUID] = frozenset()
    loaded: Sequence[Mapping[str, Any]] = ()
    decisions: list[Mapping[str, Any]] = field(default_factory=list)


def archive_results(
    settings: ContextSettings, actor: Actor, messages: Sequence[Message], preparation: Preparation
) -> Prepared:
    """Archive long results and replace them by placeholders. Inside `acting`."""
    oversized = list_oversized_slots(messages, preparation.keep_turns, settings.threshold_of)
    existing = find_archived_results(
        # Only those of this conversation: another one may be erased earlier.
        ToolResultArchive.objects.of(settings.account_id).in_scope(preparation.within),
        settings.account_id,
        list_older_slots(messages, preparation.keep_turns),
    )
    new_slots = [slot for slot in oversized if slot_position(slot) not in existing]
    common = {"agent_id": preparation.agent_id, "language": preparation.language}
    drafts = build_new_results(messages, new_slots, preparation.within, **common)
    created, new_ids = store_archives(settings, actor, drafts) if drafts else ([], frozenset())
    rows = existing | {slot_position(s): row for s, row in zip(new_slots, created, strict=True)}
    return Prepared(
        messages=replace_texts(messages, _render_placeholders(rows)),
        archived=list({row.pk: row for row in rows.values()}.values()),
        new_ids=new_ids,
    )


def _render_placeholders(rows: Mapping[Any, ToolResultArchive]) -> dict[Any, str]:
    return {
        key: render_placeholder(row.to_placeholder(), row.language) for key, row in rows.items()
    }


def restore_placeholders(
    account_id: UUID, messages: Sequence[Message], within: ArchiveScope
) -> Prepared:
    """Replace everything that was loaded by placeholders. Stores nothing. Inside `acting`."""
    readable = readable_archives(account_id, within)
    own = ToolResultArchive.objects.of(account_id).in_scope(within)
    slots = list_slots(messages)
    existing = find_archived_results(readable, account_id, slots)
    # Another conversation may have archived the same text before.
    existing |= find_archived_results(own, account_id, slots)
    slots_by_archive = find_references(messages)
    rows = readable.briefly().in_bulk(list(slots_by_archive))
    parts = build_replacements(slots_by_archive, _render_placeholders(rows))
    everything = {row.pk: row for row in (*existing.values(), *rows.values())}
    return Prepared(
        messages=replace_texts(messages, {**_render_placeholders(existing), **parts}),
        archived=list(everything.values()),
    )
