"""How an account wants its memories extracted. Inside `acting`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from memory.models import MemorySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionSettings:
    """`instructions` and `categories` are the account's own; without them, ours."""

    auto_store: bool = True
    store_threshold: float = 0.5
    instructions: str = ""
    categories: Mapping[str, str] = field(default_factory=dict)

    @property
    def prompt_text(self) -> str:
        """The instructions as the prompts tell them."""
        instructions_text = self.instructions
        return (
            f"\nThe organisation asks for this too:\n{instructions_text}\n"
            if instructions_text
            else ""
        )


def load_extraction_settings(account_id: UUID) -> ExtractionSettings:
    settings = MemorySettings.objects.get_or_default(account_id)
    return ExtractionSettings(
        auto_store=settings.auto_store,
        store_threshold=settings.store_threshold,
        instructions=settings.instructions,
        categories=settings.categories,
    )
