"""Benchmark of document search: `manage.py knowledge_perf`."""
