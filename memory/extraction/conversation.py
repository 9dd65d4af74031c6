"""What was said, message by message, and how a model is shown it. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

SYSTEM_ROLES = frozenset({"system", "developer"})
ASSISTANT = "assistant"
USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. `images` are addresses, or pictures in `data:` URLs."""

    role: str
    text: str
    name: str = ""
    images: Sequence[str] = ()

    @property
    def is_system(self) -> bool:
        return self.role in SYSTEM_ROLES

    def as_stored(self) -> dict[str, Any]:
        """As it waits in the database."""
        stored = {"role": self.role, "text": self.text, "name": self.name}
        return {**stored, "images": list(self.images)}

    @classmethod
    def of(cls, as_stored: Mapping[str, Any]) -> Self:
        return cls(**as_stored)


def is_about_agent(messages: Sequence[Message], agent_id: str) -> bool:
    """Whose memory it is: the agent's if and only if there is one, and it said something."""
    return bool(agent_id) and any(message.role == ASSISTANT for message in messages)


def render_transcript(messages: Sequence[Message]) -> str:
    """Render the conversation without system messages, one paragraph per message."""
    return "\n".join(
        f"{message.role}{f' ({message.name})' if message.name else ''}: {message.text}"
        for message in messages
        if not message.is_system
    )


def fence_text(name: str, text: str) -> str:
    """Text of others between tags that it cannot close."""
    harmless = re.sub(rf"<(/?\s*{name})", r"‹\1", text, flags=re.IGNORECASE)
    return f"<{name}>\n{harmless}\n</{name}>"
