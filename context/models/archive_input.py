"""A tool result that somebody wants kept, before it is: made at the door, read by the actions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from kmapp.database.content_digests import keyed_digest, keyed_digests


@dataclass(frozen=True, slots=True, kw_only=True)
class NewResult:
    """What a tool returned, to what. Empty strings mean: not given."""

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
        """Its id: what one call returned in one conversation is kept once, however often sent."""
        whose = (self.conversation_id, self.thread_id, self.user_id)
        what = (self.tool_name, self.tool_call_id, sent_sha256(account_id, self.text))
        return uuid5(account_id, "\x1f".join([*whose, *what]))


def sent_sha256(account_id: UUID, text: str) -> str:
    """Of a text as it was sent, with a secret, so that nobody guesses what was blacked out."""
    return keyed_digest(_purpose(account_id), text)


def sent_sha256s(account_id: UUID, text: str) -> Iterator[str]:
    """The same, as it may have been kept before the secret was exchanged, too."""
    return keyed_digests(_purpose(account_id), text)


def _purpose(account_id: UUID) -> str:
    return f"context.archive.{account_id}"
