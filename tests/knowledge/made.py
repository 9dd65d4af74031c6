"""Sources and documents, made with the product's own actions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from knowledge.actions.ingest import IngestResult, ingest
from knowledge.actions.lore import add_entries
from knowledge.actions.prepare_delivery import Delivery, prepare
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.models import ErasedKnowledge, KnowledgePiece, KnowledgeQuestion


@dataclass(frozen=True, slots=True)
class Sliced:
    """The bytes of a file as an upload brings them: a megabyte at a time."""

    data: bytes

    def __iter__(self) -> Iterator[bytes]:
        return (self.data[i : i + 2**20] for i in range(0, len(self.data), 2**20))


def deliver(
    account: Account, files: Mapping[str, str | bytes], *, remove: Any = (), **said: Any
) -> IngestResult:
    """Deliver files to the source “docs”, or the one that is named."""
    with acting(account):
        source = ensure_source(account.pk, SYSTEM, NewSource(**({"name": "docs"} | said)))
    bodies = {ref: body.encode() if isinstance(body, str) else body for ref, body in files.items()}
    deliveries = [
        replace(Delivery.of(ref, body), pieces=Sliced(body)) for ref, body in bodies.items()
    ]
    prepared = prepare(source, deliveries)
    with acting(account):
        return ingest(source, SYSTEM, prepared, remove=remove)


def fill_knowledge(account: Account, number: int) -> None:
    """Rows of every kind, as many as that."""
    for i in range(number):
        text = f"# Guide {i}\n\n{account.name} explains thing {i}."
        taken = deliver(account, {f"guide-{i}.md": text}, name=f"docs {uuid4().hex}")
        [document] = taken.documents
        now, common = timezone.now(), {"account": account, "commit_id": taken.commit_id}
        with acting(account):
            ErasedKnowledge.objects.create(erased_at=now, **common)
            KnowledgeQuestion.objects.create(
                account=account, text=f"What of thing {i}? {uuid4().hex}", created_by="system"
            )
            KnowledgePiece.objects.create(account=account, document=document, number=i, data=b"x")
            said = NewSource(name=f"lore {uuid4().hex}", kind="lorebook")
            lorebook = ensure_source(account.pk, SYSTEM, said)
            add_entries(lorebook, SYSTEM, [{"content": "Lore.", "keys": ["tea"], "scan_depth": 2}])
