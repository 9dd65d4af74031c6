"""Knowledge: what is documented, as sources, documents and cited chunks.

Reads: knowledge.retrieval. Writes: knowledge.actions. Pure: chunking, formats, triggers, variants.
"""
