from knowledge.models.comparison_questions import KnowledgeQuestion
from knowledge.models.documents import (
    ChunkQuerySet,
    DocumentQuerySet,
    ErasedKnowledge,
    KnowledgeChunk,
    KnowledgeDocument,
    KnowledgePiece,
    KnowledgeText,
)
from knowledge.models.drafts import KnowledgeDraft
from knowledge.models.images import KnowledgeImage
from knowledge.models.lore import LorebookEntry
from knowledge.models.sources import KnowledgeSource

__all__ = [
    "ChunkQuerySet",
    "DocumentQuerySet",
    "ErasedKnowledge",
    "KnowledgeChunk",
    "KnowledgeDocument",
    "KnowledgeDraft",
    "KnowledgeImage",
    "KnowledgePiece",
    "KnowledgeQuestion",
    "KnowledgeSource",
    "KnowledgeText",
    "LorebookEntry",
]
