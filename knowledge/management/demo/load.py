"""The demo's documents, trusted and not, one changed, one that cannot be read; and its lore."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.urls import reverse

from kmapp.accounts.acting import acting
from kmapp.management.demo_actors import Cast
from knowledge.actions.ingest import Taken, ingest
from knowledge.actions.lore import add_entries
from knowledge.actions.prepare_delivery import Delivery, prepare
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.models import KnowledgeQuestion, KnowledgeSource, LorebookEntry

TOLD = """\
{new} documents and {lore} entries of lore are new in {account}.

  Sources; one of them holds a letter that nobody should obey, and a file that cannot be read:
    {sources}
  Two ways of answering, compared:
    {comparison}
  Lore, and a conversation to try it on:
    {lores}
    {bench}
"""


def tell(cast: Cast) -> str:
    """Tell it once: what is known by its digest is not read again. Returns what to look at."""
    told = json.loads(Path(__file__).with_name("told.json").read_text(encoding="utf-8"))
    first, *others = told["sources"]
    with acting(cast.account):
        known = KnowledgeSource.objects.of(cast.account).filter(name=first["name"]).exists()
    new = 0
    if not known:
        new = sum(len(_deliver(cast, each, each["documents"]).added) for each in (first, *others))
        _deliver(cast, first, told["changed"])
    return TOLD.format(
        new=new,
        lore=_tell_lore(cast, told["lorebook"]),
        account=cast.account.name,
        sources=cast.here + reverse("knowledge:sources"),
        comparison=cast.here + _asked(cast, told["questions"]),
        lores=cast.here + reverse("knowledge:lore"),
        bench=cast.here + reverse("knowledge:bench"),
    )


def _deliver(cast: Cast, told: Mapping[str, Any], documents: Mapping[str, str]) -> Taken:
    said = NewSource(name=told["name"], kind=told["kind"], revision=told.get("revision"))
    with acting(cast.account):
        source = ensure_source(cast.account.pk, cast.agent, said)
    deliveries = [Delivery.of(ref, text.encode()) for ref, text in documents.items()]
    prepared = prepare(source, deliveries)
    with acting(cast.account):
        return ingest(source, cast.agent, prepared)


def _asked(cast: Cast, questions: list[str]) -> str:
    """Keep the questions; where they are compared."""
    with acting(cast.account):
        rows = [
            KnowledgeQuestion(account=cast.account, text=text, created_by=str(cast.person))
            for text in questions
        ]
        KnowledgeQuestion.objects.bulk_create(rows, ignore_conflicts=True)
    return reverse("knowledge:comparison") + "?left=v1&right=v3"


def _tell_lore(cast: Cast, told: Mapping[str, Any]) -> int:
    with acting(cast.account):
        said = NewSource(name=told["name"], kind="lorebook")
        book = ensure_source(cast.account.pk, cast.person, said)
        if LorebookEntry.objects.of(cast.account).filter(source=book).exists():
            return 0
        return len(add_entries(book, cast.person, told["entries"]))
