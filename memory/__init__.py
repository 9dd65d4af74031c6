"""Memory: what an account's agents have learned, and how each belief came to be.

Reads: memory.retrieval. Writes: memory.actions. Nothing else is for other apps.
"""
