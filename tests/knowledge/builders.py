"""Sources and documents, created with the product's own actions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any
from uuid import uuid4

from django.utils import timezone
from PIL import Image

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from knowledge.actions.drafts import save_draft
from knowledge.actions.images import check_image, store_image
from knowledge.actions.ingest import IngestResult, ingest_deliveries
from knowledge.actions.lore import add_entries
from knowledge.actions.prepare_delivery import DeliveredFile, prepare_deliveries
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.models import ErasedKnowledge, KnowledgePiece, KnowledgeQuestion


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """The content of a file, iterated in chunks of one megabyte as for an upload."""

    data: bytes

    def __iter__(self) -> Iterator[bytes]:
        return (self.data[i : i + 2**20] for i in range(0, len(self.data), 2**20))


def deliver(
    account: Account, files: Mapping[str, str | bytes], *, remove: Any = (), **source_fields: Any
) -> IngestResult:
    """Deliver files to the source “docs”, or to the one in `source_fields`."""
    with acting(account):
        source = ensure_source(account.pk, SYSTEM, NewSource(**({"name": "docs"} | source_fields)))
    bodies = {ref: body.encode() if isinstance(body, str) else body for ref, body in files.items()}
    deliveries = [
        replace(DeliveredFile.of(ref, body), pieces=UploadedFile(body))
        for ref, body in bodies.items()
    ]
    prepared = prepare_deliveries(source, deliveries)
    with acting(account):
        return ingest_deliveries(source, SYSTEM, prepared, remove=remove)


def draw_image(seed: int = 0, kind: str = "PNG", size: tuple[int, int] = (2, 2)) -> bytes:
    data = BytesIO()
    Image.new("RGB", size, seed % 2**24).save(data, kind)
    return data.getvalue()


def fill_knowledge(account: Account, number: int) -> None:
    """Create `number` rows in every table of knowledge."""
    writer = uuid4().hex
    owner = User.objects.create(username=writer, email=f"{writer}@example.test")
    for i in range(number):
        text = f"# Guide {i}\n\n{account.name} explains thing {i}."
        result = deliver(account, {f"guide-{i}.md": text}, name=f"docs {uuid4().hex}")
        [document] = result.documents
        now, common = timezone.now(), {"account": account, "commit_id": result.commit_id}
        with acting(account):
            ErasedKnowledge.objects.create(erased_at=now, **common)
            KnowledgeQuestion.objects.create(
                account=account, text=f"What of thing {i}? {uuid4().hex}", created_by="system"
            )
            KnowledgePiece.objects.create(account=account, document=document, number=i, data=b"x")
            save_draft(account.pk, owner, document.pk, {"text": f"{text} And more."})
            image = check_image(draw_image(uuid4().int % 10**6), "cup.png")
            store_image(account.pk, SYSTEM, image)
            new = NewSource(name=f"lore {uuid4().hex}", kind="lorebook")
            lorebook = ensure_source(account.pk, SYSTEM, new)
            add_entries(lorebook, SYSTEM, [{"content": "Lore.", "keys": ["tea"], "scan_depth": 2}])
