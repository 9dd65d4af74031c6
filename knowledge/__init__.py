"""Knowledge: sources, documents and cited chunks.

Reads: knowledge.retrieval. Writes: knowledge.actions. Pure: knowledge.chunking,
knowledge.parsing.formats, knowledge.lore.lorebook_evaluation.
"""
