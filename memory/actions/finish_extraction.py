"""The end of an extraction: it is done once, or its bad answer is kept. Inside `acting`."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.utils import timezone

from memory.actions.model_requests import InvalidAnswer
from memory.models import Extraction


def ids_of(row: Extraction) -> dict[str, Any]:
    """Whose what comes of it is."""
    names = ("scope", "user_id", "agent_id", "app_id", "run_id")
    return {name: getattr(row, name) for name in names}


def finish(account_id: UUID, pk: UUID, result: Mapping[str, Any]) -> None:
    """Nothing came of it, and that is the answer."""
    held = held_open(account_id, pk)
    if held:
        close(held, result)


def fail(account_id: UUID, pk: UUID, error: InvalidAnswer) -> None:
    """Keep the answer for people. What was said stays too, so that it can be tried again."""
    held = held_open(account_id, pk)
    if held:
        held.problem, held.answer = error.problem[:500], error.raw
        held.save(update_fields=["problem", "answer"])


def held_open(account_id: UUID, pk: UUID) -> Extraction | None:
    rows = Extraction.objects.of(account_id).select_for_update(no_key=True, of=("self",))
    return rows.filter(pk=pk, finished_at=None).first()


def close(held: Extraction, result: Mapping[str, Any]) -> None:
    """Finish the extraction and delete its inputs."""
    held.result, held.finished_at = dict(result), timezone.now()
    held.said, held.problem, held.answer = {}, "", ""
    named = [each.get(name) for each in result["results"] for name in ("id", "supersedes")]
    held.memories = sorted({*held.memories, *(UUID(pk) for pk in named if pk)})
    held.save(update_fields=["result", "finished_at", "said", "problem", "answer", "memories"])
