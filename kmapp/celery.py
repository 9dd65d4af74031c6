"""The Celery app. A message only wakes a worker: what is owed stands in the outbox."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kmapp.settings")

app = Celery("kmapp")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["kmapp.api", "kmapp.outbox", "kmapp.ledger", "memory"])
