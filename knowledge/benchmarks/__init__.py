"""Benchmarks of document search and chunking: `manage.py knowledge_perf`."""
