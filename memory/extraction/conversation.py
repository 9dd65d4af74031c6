"""Messages of a conversation, and their text form for a model. Pure."""

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

SYSTEM_ROLES = frozenset({"system", "developer"})
ASSISTANT = "assistant"
USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. `images` holds URLs, which may be `data:` URLs."""

    role: str
    text: str
    name: str = ""
    images: Sequence[str] = ()

    @property
    def is_system(self) -> bool:
        return self.role in SYSTEM_ROLES

    def serialize(self) -> dict[str, Any]:
        """Return the fields as JSON, to be stored in the database."""
        return {**asdict(self), "images": list(self.images)}

    def with_described_images(self, describe: Callable[[str], str]) -> Self:
        """Return the message with a description in the text for each image."""
        descriptions = [f"[picture: {describe(image)}]" for image in self.images]
        text = "\n".join([self.text, *descriptions]).strip() if descriptions else self.text
        return replace(self, text=text, images=())


def is_about_agent(messages: Sequence[Message], agent_id: str) -> bool:
    """Return whether the facts are about the agent: it has an id, and wrote a message."""
    return bool(agent_id) and any(message.role == ASSISTANT for message in messages)


def render_transcript(messages: Sequence[Message]) -> str:
    """Return the conversation as text without system messages, one paragraph per message."""
    return "\n".join(
        f"{message.role}{f' ({message.name})' if message.name else ''}: {message.text}"
        for message in messages
        if not message.is_system
    )


def fence_text(name: str, text: str) -> str:
    """Return untrusted text between tags that it cannot close."""
    escaped = re.sub(rf"<(/?\s*{name})", r"‹\1", text, flags=re.IGNORECASE)
    return f"<{name}>\n{escaped}\n</{name}>"
