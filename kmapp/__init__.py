"""The kernel and the composition root. It refers to the apps by string only.

Each document is parsed by a process of its own that imports a part of the kernel, so this module
imports nothing. `kmapp.outbox` imports the Celery app when Django starts.
"""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kmapp.settings")

__version__ = "0.1.0"
