"""Facts of an unfinished extraction, stored with its input until they are written as memories.

A retry uses them, for example after an outage of the embedder, so that the chat model is paid for
them once.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kmapp.accounts.acting import acting
from memory.extraction.response_schema import Fact, ParsedItems, RefusedItem
from memory.models import Extraction

PENDING_FACTS = "facts"  # their key in the input


def save_pending_facts(
    row: Extraction, parsed: ParsedItems[Fact], details: Mapping[str, Any]
) -> None:
    """Store the facts, unless they are stored or the extraction is finished. Opens `acting`."""
    if PENDING_FACTS in row.said or not parsed.items:
        return
    facts = {
        "items": [[item, fact.model_dump()] for item, fact in parsed.items.items()],
        "refused": [asdict(each) for each in parsed.refused],
        "details": dict(details),
    }
    with acting(row.account_id):
        unfinished = Extraction.objects.of(row.account_id).filter(pk=row.pk, finished_at=None)
        unfinished.update(said={**row.said, PENDING_FACTS: facts})


def load_pending_facts(row: Extraction) -> tuple[ParsedItems[Fact], dict[str, Any]] | None:
    """Return the facts of an earlier attempt and the details of its answer, or None."""
    facts = row.said.get(PENDING_FACTS)
    if facts is None:
        return None
    items = {item: Fact.model_validate(fact) for item, fact in facts["items"]}
    refused = [RefusedItem(**each) for each in facts["refused"]]
    return ParsedItems(items=items, refused=refused), facts["details"]
