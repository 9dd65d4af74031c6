"""How well documents are found and how fast they are cut: `manage.py knowledge_perf`."""
