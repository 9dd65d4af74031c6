"""Memory: what agents have learned, with the history of each memory.

Reads: memory.retrieval. Writes: memory.actions. Nothing else is for other apps.
"""
