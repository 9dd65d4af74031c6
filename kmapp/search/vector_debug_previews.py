"""Vector previews for debugging: enough to compare vectors, too little to use them."""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from kmapp.search.models import Vector

PREVIEW_VALUES = 8  # numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorPreview:
    dimensions: int
    sha256: str
    preview: Sequence[float]


def load_vector_previews(
    account_id: UUID, collection: str, model_id: int, ids: Sequence[UUID]
) -> dict[UUID, VectorPreview]:
    """Return a preview of the first part of each vector. Inside `acting`."""
    rows = Vector.objects.of(account_id).filter(
        collection=collection, model_id=model_id, object_id__in=ids, part=0, state="READY"
    )
    previews = {}
    for row in rows:
        numbers = [float(number) for number in row.embedding]
        packed = struct.pack(f"<{len(numbers)}f", *numbers)
        previews[row.object_id] = VectorPreview(
            dimensions=len(numbers),
            sha256=hashlib.sha256(packed).hexdigest(),
            preview=[round(number, 4) for number in numbers[:PREVIEW_VALUES]],
        )
    return previews
