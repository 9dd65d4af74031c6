"""Images of documents: checked by their content and scanned, stored once for each digest."""

import hashlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from io import BytesIO
from uuid import UUID

from django.db import connection
from django.db.models import Sum
from django.utils.translation import gettext as _
from PIL import Image, UnidentifiedImageError

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.database.raw_sql import fetch_all
from kmapp.database.server_response_timeout import extend_statement_timeout
from kmapp.database.steady_clock import SteadyTime
from kmapp.errors import Invalid, TooLarge
from kmapp.security.virus_scan import refuse_infected
from knowledge.models import KnowledgeDraft, KnowledgeImage, KnowledgeText

MAX_BYTES = 4 * 1024 * 1024
MAX_PIXELS = 40_000_000
MAX_ACCOUNT_BYTES = 1024**3
MIME_BY_TYPE = {each.name: each.value for each in KnowledgeImage.Type}  # by the name of the format
IMAGES = "/knowledge/images/"  # prefix of the URLs of images
ORPHAN_AGE = timedelta(days=1)  # a person may cut an image from a draft and paste it later
SCAN_SECONDS = 60  # for a statement that reads all texts of an account
_PATTERN = rf"{IMAGES}([0-9a-f]{{64}})/"
_DIGEST = re.compile(_PATTERN)
_USED_DIGESTS = """
SELECT DISTINCT parts[1]
FROM (
  SELECT text FROM knowledge_knowledgetext WHERE account_id = %(account)s
  UNION ALL
  SELECT text FROM knowledge_knowledgedraft WHERE account_id = %(account)s
) AS stored, regexp_matches(stored.text, %(pattern)s, 'g') AS matched(parts)
WHERE strpos(stored.text, %(images)s) > 0
"""


@dataclass(frozen=True, slots=True)
class CheckedImage:
    """The bytes of an image that was scanned, with its type and digest."""

    data: bytes
    mime: str
    sha256: str


def check_size(size: int) -> None:
    """Raise TooLarge if an image has too many bytes. Call it before the image is read."""
    if size > MAX_BYTES:
        raise TooLarge(
            _("The image is too large. The limit is %(most)d MB.") % {"most": MAX_BYTES // 1024**2}
        )


def check_image(data: bytes, name: str) -> CheckedImage:
    """Detect the type of an image, and scan it. Outside of transactions."""
    check_size(len(data))
    image = CheckedImage(data, _detect_type(data), hashlib.sha256(data).hexdigest())
    refuse_infected([data], name=name, sha256=image.sha256, path="image")
    return image


def store_image(account_id: UUID, actor: Actor, checked: CheckedImage) -> KnowledgeImage:
    """Store an image, or return the stored one with this content. Inside `acting`."""
    size = len(checked.data)
    rows = KnowledgeImage.objects.of(account_id)
    if (rows.aggregate(Sum("size"))["size__sum"] or 0) + size > MAX_ACCOUNT_BYTES:
        raise TooLarge(_("Image storage is full. Erase documents with images first."))
    image = KnowledgeImage(
        account_id=account_id,
        sha256=checked.sha256,
        mime=checked.mime,
        size=size,
        data=checked.data,
        created_by=str(actor),
    )
    # The update locks the stored row, so that `delete_unused_images` waits for the draft.
    KnowledgeImage.objects.bulk_create(
        [image], update_conflicts=True, unique_fields=["account", "sha256"], update_fields=["size"]
    )
    return rows.defer("data").get(sha256=checked.sha256)


def _detect_type(data: bytes) -> str:
    """Return the type of an image by its content. Its pixels are not decoded."""
    try:
        with Image.open(BytesIO(data), formats=list(MIME_BY_TYPE)) as image:
            width, height = image.size
            mime = MIME_BY_TYPE[image.format or ""]
            if width * height <= MAX_PIXELS:
                image.verify()
    except (
        *(UnidentifiedImageError, Image.DecompressionBombError, Image.DecompressionBombWarning),
        *(OSError, SyntaxError, ValueError, KeyError),
    ) as error:
        raise Invalid(_("This is not an image. Choose a PNG, JPEG, GIF or WebP file.")) from error
    if width * height > MAX_PIXELS:
        raise TooLarge(_("The image has too many pixels. Make it smaller and try again."))
    return mime


def delete_unused_images(account_id: UUID, texts: Iterable[str], *, saved: str = "") -> None:
    """Delete the images of deleted texts that no saved text and no draft contains.

    Inside `acting`, after the texts are deleted. Images in the text `saved` are in use, so that no
    search of all texts is needed for them.
    """
    digests = {digest for text in texts for digest in _DIGEST.findall(text)}
    digests.difference_update(_DIGEST.findall(saved))
    _delete_unused(account_id, digests)


def delete_orphaned_images(account_id: UUID) -> int:
    """Delete old images that no text and no draft contains; return their number.

    For example, a draft was saved without an image before it was discarded, or the owner of the
    draft was removed. Opens `acting` itself.
    """
    with acting(account_id):
        images = KnowledgeImage.objects.of(account_id)
        old = images.filter(created_at__lt=SteadyTime() - ORPHAN_AGE)
        digests = set(old.values_list("sha256", flat=True))
        if not digests:
            return 0
        extend_statement_timeout(connection, SCAN_SECONDS)
        values = {"account": account_id, "pattern": _PATTERN, "images": IMAGES}
        digests.difference_update(digest for [digest] in fetch_all(_USED_DIGESTS, values))
        return _delete_unused(account_id, digests)


def _delete_unused(account_id: UUID, digests: Collection[str]) -> int:
    if not digests:
        return 0
    extend_statement_timeout(connection, SCAN_SECONDS)
    images = KnowledgeImage.objects.of(account_id).filter(sha256__in=digests)
    # Lock the images before the check, so that it sees a concurrent upload of the same image.
    locked = images.select_for_update().order_by("sha256").values_list("sha256", flat=True)
    unused = [each for each in locked if not _is_used(account_id, each)]
    images.filter(sha256__in=unused).delete()
    return len(unused)


def _is_used(account_id: UUID, digest: str) -> bool:
    return any(
        model.objects.of(account_id).filter(text__contains=digest).exists()
        for model in (KnowledgeDraft, KnowledgeText)
    )
