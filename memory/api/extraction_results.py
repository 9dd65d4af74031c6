"""Results of extractions: ids and reasons for agents, everything for people."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from kmapp.ledger.read_verification import withhold_mismatches
from kmapp.outbox.job_result_registry import JobOutcome, register_result_function
from memory.actions.extraction_requests import EXTRACT
from memory.actions.unfinished_extraction_facts import PENDING_FACTS
from memory.models import Extraction, MemoryEntry


@register_result_function(EXTRACT)
def load_extraction_outcome(account_id: UUID, payload: Mapping[str, Any]) -> JobOutcome:
    row = Extraction.objects.of(account_id).filter(pk=payload["extraction"]).first()
    if row is None:
        return JobOutcome()
    if row.finished_at:
        return JobOutcome(result=_add_current_texts(account_id, row.result or {}))
    source_input = {name: value for name, value in row.said.items() if name != PENDING_FACTS}
    evidence = {_("Original text"): json.dumps(source_input, ensure_ascii=False, indent=1)}
    if row.problem:
        evidence = {_("Problem"): row.problem, _("Model response"): row.answer, **evidence}
    return JobOutcome(evidence=evidence)


def _add_current_texts(account_id: UUID, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results with the current texts of visible memories."""
    results = result.get("results", [])
    ids = [each["id"] for each in results if each.get("id")]
    rows = MemoryEntry.objects.of(account_id).current().filter(pk__in=ids)
    sealed = withhold_mismatches(account_id, list(rows.with_verify_on_read(account_id)))
    texts = {str(entry.pk): entry.content for entry in sealed}
    return {**result, "results": [{**each, "text": texts.get(each["id"])} for each in results]}
