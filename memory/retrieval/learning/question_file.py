"""The labelled questions of an account as a file of collections, which `make tune` reads."""

import gzip
import json
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from kmapp.errors import TooLarge
from memory.models import MemoryEntry, Viewer
from memory.retrieval.indexed_text import build_passage
from memory.retrieval.learning.questions import LabelledQuestion, list_labels, list_questions

MAX_ITEMS = 50_000


def build_question_file(account_id: UUID) -> tuple[bytes, int]:
    """Return the compressed file and its number of memories. Inside `acting`.

    A collection has the questions of one viewer and the memories that are visible to them.
    Raises TooLarge above `MAX_ITEMS` memories.
    """
    questions_by_viewer: dict[Viewer, list[LabelledQuestion]] = {}
    for question in list_questions(account_id, list_labels(account_id)):
        questions_by_viewer.setdefault(question.viewer, []).append(question)
    collections: list[dict[str, Any]] = []
    number = 0
    for viewer, questions in questions_by_viewer.items():
        items = list(_items(account_id, viewer, MAX_ITEMS + 1 - number))
        number += len(items)
        if number > MAX_ITEMS:
            raise TooLarge(
                _("The viewers of these questions see more than %(number)d memories in all.")
                % {"number": MAX_ITEMS}
            )
        name = f"viewer-{len(collections) + 1}"
        collections.append({"id": name, "items": items, "queries": _queries(questions, items)})
    content = json.dumps({"collections": collections}, ensure_ascii=False).encode()
    return gzip.compress(content, mtime=0), number


def _items(account_id: UUID, viewer: Viewer, limit: int) -> Iterator[dict[str, Any]]:
    """Yield visible memories in the order of their runs."""
    rows = MemoryEntry.objects.of(account_id).current().visible_to(viewer)
    for entry in rows.order_by("observed_at", "created_at", "position")[:limit]:
        passage = build_passage(entry)
        yield {
            "id": str(entry.pk),
            "run": f"{entry.user_id}/{entry.run_id or entry.pk}",
            "title": passage.title,
            "speaker": passage.speaker,
            "text": passage.text,
            "observed_at": entry.observed_at.isoformat(),
        }


def _queries(
    questions: Sequence[LabelledQuestion], items: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    visible = {item["id"] for item in items}
    queries = [
        {"text": each.text, "gold": sorted({str(pk) for pk in each.relevant} & visible)}
        for each in questions
    ]
    return [query for query in queries if query["gold"]]
