"""gunicorn configuration: WSGI, two preloaded processes."""

import gc
import os
from importlib import import_module
from typing import Any

from django.conf import settings
from prometheus_client import multiprocess

from kmapp.runtime import env
from kmapp.text import tokens

bind = f"{env.text('HOST', '127.0.0.1')}:{env.integer('PORT', 8000)}"
wsgi_app = "kmapp.wsgi:application"
workers = env.integer("WEB_WORKERS", 2)
worker_class = "kmapp.runtime.gunicorn_worker.Worker"
threads = env.integer("WEB_THREADS", 4)
preload_app = True
timeout = 60
graceful_timeout = 25
limit_request_line = 8190  # bytes; the most that it can
control_socket_disable = True
errorlog = "-"
# Its own few lines go where ours go, once Django has set logging up.
logconfig_dict = {
    "root": {"level": "INFO", "handlers": ["error_console"]},
    "loggers": {"gunicorn.error": {"level": "WARNING", "handlers": [], "propagate": True}},
}


def when_ready(_server: Any) -> None:
    """Load every view before the fork, and keep all that from the collector: it stays shared."""
    import_module(settings.ROOT_URLCONF)
    tokens.count("the tables, too")  # 148 MB for all processes instead of for each
    gc.collect()
    gc.freeze()


def child_exit(_server: Any, worker: Any) -> None:
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
