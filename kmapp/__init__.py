"""The kernel and the composition root. It refers to the apps by string only."""

from kmapp.celery import app as celery_app

__all__ = ["celery_app"]
__version__ = "0.1.0"
