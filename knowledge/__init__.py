"""Knowledge: sources, documents and cited chunks.

Reads: knowledge.retrieval. Writes: knowledge.actions. Pure: chunking, formats, triggers, variants.
"""
