"""Input of an archive, before it is stored."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from kmapp.database.content_digests import keyed_digest, keyed_digests


@dataclass(frozen=True, slots=True, kw_only=True)
class NewResult:
    """The result of a tool call. Empty strings are missing values."""

    text: str
    tool_name: str
    tool_input: Any = None
    tool_call_id: str = ""
    conversation_id: str = ""
    thread_id: str = ""
    user_id: str = ""
    agent_id: str = ""
    sources: Sequence[str] = ()
    language: str = ""

    def key_in(self, account_id: UUID) -> UUID:
        """Return its id, which is equal for the same result of the same call."""
        owner = (self.conversation_id, self.thread_id, self.user_id)
        content = (self.tool_name, self.tool_call_id, sent_sha256(account_id, self.text))
        return uuid5(account_id, "\x1f".join([*owner, *content]))


def sent_sha256(account_id: UUID, text: str) -> str:
    """Return a keyed digest of the original text, from which redacted text cannot be guessed."""
    return keyed_digest(_purpose(account_id), text)


def sent_sha256s(account_id: UUID, text: str) -> Iterator[str]:
    """Yield the digest under each secret, including rotated ones."""
    return keyed_digests(_purpose(account_id), text)


def _purpose(account_id: UUID) -> str:
    return f"context.archive.{account_id}"
