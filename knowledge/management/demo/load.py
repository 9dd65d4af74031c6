"""Loading of the demo's documents and lore."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.acting import acting
from kmapp.management.demo.actors import DemoActors
from knowledge.actions.ingest import IngestResult, ingest_deliveries
from knowledge.actions.lore import add_entries
from knowledge.actions.prepare_delivery import DeliveredFile, prepare_deliveries
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.models import KnowledgeDocument, KnowledgeQuestion, KnowledgeSource, LorebookEntry

LABEL = _("Documents and lore")
SUMMARY = """\
{new} documents and {lore} lore entries added to {account}.

  Sources, with a prompt injection and a damaged file:
    {sources}
  Comparison of two variants:
    {comparison}
  Lore, and a conversation to test it:
    {lores}
    {bench}
"""


def list_data(account_id: UUID) -> QuerySet[KnowledgeSource]:
    return KnowledgeSource.objects.of(account_id)


def load_demo(actors: DemoActors) -> str:
    """Load the demo data once. Return a summary with addresses of pages."""
    data = json.loads(Path(__file__).with_name("demo.json").read_text(encoding="utf-8"))
    first, *others = data["sources"]
    with acting(actors.account):
        documents = KnowledgeDocument.objects.of(actors.account)
        # Look for the last source, because an earlier load may have been interrupted.
        exists = documents.filter(source__name=others[-1]["name"]).exists()
    new = 0
    if not exists:
        new = len(_deliver(actors, first, first["documents"]).added)
        _deliver(actors, first, data["changed"])
        new += sum(len(_deliver(actors, each, each["documents"]).added) for each in others)
    with acting(actors.account):
        KnowledgeQuestion.objects.bulk_create(
            [
                KnowledgeQuestion(account=actors.account, text=text, created_by=str(actors.person))
                for text in data["questions"]
            ],
            ignore_conflicts=True,
        )
    return SUMMARY.format(
        new=new,
        lore=_load_lore(actors, data["lorebook"]),
        account=actors.account.name,
        sources=actors.here + reverse("knowledge:sources"),
        comparison=actors.here + reverse("knowledge:comparison") + "?left=v1&right=v3",
        lores=actors.here + reverse("knowledge:lore"),
        bench=actors.here + reverse("knowledge:bench"),
    )


def _deliver(
    actors: DemoActors, data: Mapping[str, Any], documents: Mapping[str, str]
) -> IngestResult:
    source_input = NewSource(name=data["name"], kind=data["kind"], revision=data.get("revision"))
    with acting(actors.account):
        source = ensure_source(actors.account.pk, actors.agent, source_input)
    deliveries = [DeliveredFile.of(ref, text.encode()) for ref, text in documents.items()]
    prepared = prepare_deliveries(source, deliveries)
    with acting(actors.account):
        return ingest_deliveries(source, actors.agent, prepared)


def _load_lore(actors: DemoActors, data: Mapping[str, Any]) -> int:
    with acting(actors.account):
        source_input = NewSource(name=data["name"], kind="lorebook")
        book = ensure_source(actors.account.pk, actors.person, source_input)
        if LorebookEntry.objects.of(actors.account).filter(source=book).exists():
            return 0
        return len(add_entries(book, actors.person, data["entries"]))
