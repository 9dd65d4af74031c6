"""Images of documents: checked by their content, stored once for each digest."""

import hashlib
import re
from collections.abc import Iterable
from io import BytesIO
from uuid import UUID

from django.db.models import Sum
from django.utils.translation import gettext as _
from PIL import Image, UnidentifiedImageError

from kmapp.accounts.actors import Actor
from kmapp.errors import Invalid, TooLarge
from knowledge.models import KnowledgeImage, KnowledgeText

MOST_BYTES = 4 * 1024 * 1024
MOST_PIXELS = 40_000_000
MOST_ACCOUNT_BYTES = 1024**3
MIME_OF = {each.name: each.value for each in KnowledgeImage.Type}  # by the name of the format
IMAGES = "/knowledge/images/"  # how the URLs of images begin
_DIGEST = re.compile(rf"{IMAGES}([0-9a-f]{{64}})/")


def store_image(account_id: UUID, actor: Actor, data: bytes) -> KnowledgeImage:
    """Store an image, or return the stored one with this content. Inside `acting`."""
    if len(data) > MOST_BYTES:
        raise TooLarge(
            _("The image is too large. The limit is %(most)d MB.") % {"most": MOST_BYTES // 1024**2}
        )
    mime = _detect_type(data)
    rows = KnowledgeImage.objects.of(account_id)
    if (rows.aggregate(Sum("size"))["size__sum"] or 0) + len(data) > MOST_ACCOUNT_BYTES:
        raise TooLarge(_("The storage of images is full. Erase documents with images first."))
    digest = hashlib.sha256(data).hexdigest()
    image = KnowledgeImage(
        account_id=account_id,
        sha256=digest,
        mime=mime,
        size=len(data),
        data=data,
        created_by=str(actor),
    )
    KnowledgeImage.objects.bulk_create([image], ignore_conflicts=True)
    return rows.defer("data").get(sha256=digest)


def _detect_type(data: bytes) -> str:
    """Return the type of an image by its content. Its pixels are not decoded."""
    try:
        with Image.open(BytesIO(data), formats=list(MIME_OF)) as image:
            width, height = image.size
            mime = MIME_OF[image.format or ""]
            if width * height <= MOST_PIXELS:
                image.verify()
    except (
        *(UnidentifiedImageError, Image.DecompressionBombError, Image.DecompressionBombWarning),
        *(OSError, SyntaxError, ValueError, KeyError),
    ) as error:
        raise Invalid(_("This is not an image. Choose a PNG, JPEG, GIF or WebP file.")) from error
    if width * height > MOST_PIXELS:
        raise TooLarge(_("The image has too many pixels. Make it smaller and try again."))
    return mime


def delete_unused_images(account_id: UUID, texts: Iterable[str]) -> None:
    """Delete the images of erased texts that no other text contains. Inside `acting`."""
    digests = {digest for text in texts for digest in _DIGEST.findall(text)}
    remaining = KnowledgeText.objects.of(account_id)
    unused = [each for each in digests if not remaining.filter(text__contains=each).exists()]
    KnowledgeImage.objects.of(account_id).filter(sha256__in=unused).delete()
