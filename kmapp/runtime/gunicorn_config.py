"""gunicorn configuration: WSGI, two preloaded processes."""

import gc
import os
from importlib import import_module
from pathlib import Path
from typing import Any

from django.conf import settings
from prometheus_client import multiprocess

from kmapp.runtime import env, tracing
from kmapp.runtime.metrics_files import delete_metrics_of_ended_processes
from kmapp.runtime.readiness_file import announce_ready
from kmapp.text import token_counter, word_vectors

# A socket of the supervisor, which outlives this process, or one of our own.
_descriptor = env.text("WEB_DESCRIPTOR")
_address = f"{env.text('HOST', '127.0.0.1')}:{env.integer('PORT', 8000)}"
bind = f"fd://{_descriptor}" if _descriptor else _address
wsgi_app = "kmapp.wsgi:application"
workers = env.integer("WEB_WORKERS", 2, minimum=1)
worker_class = "kmapp.runtime.gunicorn_worker.Worker"
threads = env.integer("WEB_THREADS", 4, minimum=1)
preload_app = True
timeout = 60
graceful_timeout = 25
limit_request_line = 8190  # bytes; gunicorn's maximum
control_socket_disable = True
errorlog = "-"
# gunicorn's own lines go through Django's logging.
logconfig_dict = {
    "root": {"level": "INFO", "handlers": ["error_console"]},
    "loggers": {"gunicorn.error": {"level": "WARNING", "handlers": [], "propagate": True}},
}


def on_starting(_server: Any) -> None:
    """Delete the metrics of ended processes, whose folder the systemd units preserve.

    The supervisor does it when it starts, so that the counters go on when it replaces a process.
    """
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ and not _descriptor:
        delete_metrics_of_ended_processes(Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]))


def when_ready(_server: Any) -> None:
    """Load every view before the fork and freeze all objects, so that their memory is shared."""
    import_module(settings.ROOT_URLCONF)
    # These tables take 148 MB and 45 MB, once for all processes.
    token_counter.count_tokens("load the tables")
    word_vectors.compare_words(["load"], [("vectors",)])
    gc.collect()
    gc.freeze()


def post_worker_init(_worker: Any) -> None:
    tracing.start("web")
    announce_ready()


def child_exit(_server: Any, worker: Any) -> None:
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
