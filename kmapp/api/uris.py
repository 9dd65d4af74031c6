"""URIs of objects in the form that Aionis clients use."""

from uuid import UUID

SCHEME = "aionis"


def object_uri(object_id: UUID, kind: str, account_id: UUID, scope: str = "") -> str:
    return f"{SCHEME}://{account_id}/{scope or 'default'}/{kind}/{object_id}"
