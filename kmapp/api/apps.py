from typing import Any

import structlog
from django.apps import AppConfig
from django.core.signals import request_finished


def clear_request_context(**_kwargs: Any) -> None:
    """Clear the log context, so that later log lines do not name this request."""
    structlog.contextvars.clear_contextvars()


class ApiConfig(AppConfig):
    name = "kmapp.api"
    label = "api"

    def ready(self) -> None:
        request_finished.connect(clear_request_context)
