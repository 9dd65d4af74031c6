"""Facts of an unfinished extraction, stored with its input until they are written as memories.

A retry uses them, for example after an outage of the embedder, so that the chat model is paid for
them once.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic import ValidationError

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.security.pii import redact_json
from memory.extraction.response_schema import Fact, ParsedItems, RefusedItem
from memory.models import Extraction

PENDING_FACTS = "facts"  # their key in the input


def save_pending_facts(
    row: Extraction, parsed: ParsedItems[Fact], details: Mapping[str, Any]
) -> None:
    """Store the facts, redacted by the policy of the account. Opens `acting`.

    Nothing happens if they are stored already or the extraction is finished.
    """
    if PENDING_FACTS in row.said or not parsed.items:
        return
    facts = {
        "items": [[item, fact.model_dump()] for item, fact in parsed.items.items()],
        "refused": [asdict(each) for each in parsed.refused],
        "details": dict(details),
    }
    with acting(row.account_id):
        # The input is redacted, but a description of an image may contain personal data.
        redacted, _ = redact_json(facts, Account.objects.get(pk=row.account_id).redact)
        unfinished = Extraction.objects.of(row.account_id).filter(pk=row.pk, finished_at=None)
        unfinished.update(said={**row.said, PENDING_FACTS: redacted})


def load_pending_facts(row: Extraction) -> tuple[ParsedItems[Fact], dict[str, Any]] | None:
    """Return the facts of an earlier attempt and the details of its answer, or None.

    Facts that are not valid any more, because redaction made them too long, are extracted again.
    """
    facts = row.said.get(PENDING_FACTS)
    if facts is None:
        return None
    try:
        items = {item: Fact.model_validate(fact) for item, fact in facts["items"]}
    except ValidationError:
        return None
    refused = [RefusedItem(**each) for each in facts["refused"]]
    return ParsedItems(items=items, refused=refused), facts["details"]
