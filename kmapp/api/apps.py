from typing import Any

import structlog
from django.apps import AppConfig
from django.core.signals import request_finished


def forget_request(**_kwargs: Any) -> None:
    """What this thread logs next is not about that request."""
    structlog.contextvars.clear_contextvars()


class ApiConfig(AppConfig):
    name = "kmapp.api"
    label = "api"

    def ready(self) -> None:
        request_finished.connect(forget_request)
