"""Salted digests of call parts, under which an account stores each part once."""

import json
import marshal
from functools import lru_cache
from hashlib import blake2b
from hmac import HMAC
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils.crypto import salted_hmac

MAX_DIGESTS = 100_000  # cached digests
MARSHAL_VERSION = 2  # without references, so that equal values have equal bytes

# With keys in their order, because models read tools in that order.
encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def salted_digest(account_id: UUID, text: str, secret: str = "") -> UUID:
    """Return the account's salted digest of the text. It does not reveal the text.

    Its key is `SECRET_KEY`, unless `secret` is a former one.
    """
    mac = _keyed_hmac(account_id, secret or settings.SECRET_KEY).copy()
    mac.update(text.encode())
    return UUID(bytes=mac.digest()[:16], version=5)


def body_digest(account_id: UUID, value: Any, secret: str = "") -> UUID:
    """Return the digest under which a part is stored, or was stored with a former `SECRET_KEY`.

    A conversation repeats its parts in every call, so that digests are cached by a fingerprint;
    neither the parts nor their text stay in memory.
    """
    secret = secret or settings.SECRET_KEY
    fingerprint = blake2b(marshal.dumps(value, MARSHAL_VERSION), digest_size=16).digest()
    key = (account_id, secret, fingerprint)
    digest = _digests.get(key)
    if digest is None:
        if len(_digests) >= MAX_DIGESTS:
            _digests.clear()  # rare, and cheap to rebuild
        digest = _digests[key] = salted_digest(account_id, encode_json(value), secret)
    return digest


_digests: dict[tuple[UUID, str, bytes], UUID] = {}


@lru_cache(maxsize=1_000)
def _keyed_hmac(account_id: UUID, secret: str) -> HMAC:
    """Return the keyed HMAC of the account; cached, because a call has hundreds of parts."""
    return salted_hmac(f"context.body.{account_id}", "", secret=secret, algorithm="sha256")
