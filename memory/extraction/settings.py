"""Settings of an account for extraction."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from memory.models import MemorySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionSettings:
    """Settings; empty `instructions` and `categories` mean the defaults of the product."""

    auto_store: bool = True
    store_threshold: float = 0.5
    instructions: str = ""
    categories: Mapping[str, str] = field(default_factory=dict)

    @property
    def prompt_instructions(self) -> str:
        """Return the instructions as a paragraph of a prompt."""
        text = self.instructions
        return f"\nThe organisation asks for this too:\n{text}\n" if text else ""


def load_extraction_settings(account_id: UUID) -> ExtractionSettings:
    """Load the settings. Use inside `acting`."""
    settings = MemorySettings.objects.get_or_default(account_id)
    return ExtractionSettings(
        auto_store=settings.auto_store,
        store_threshold=settings.store_threshold,
        instructions=settings.instructions,
        categories=settings.categories,
    )
