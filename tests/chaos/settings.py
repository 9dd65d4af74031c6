"""The product's settings, with jobs and a middleware that inject faults."""

from kmapp.runtime import env
from kmapp.settings import *  # noqa: F403

INSTALLED_APPS = [*INSTALLED_APPS, "tests.chaos"]  # noqa: F405
MIDDLEWARE = ["tests.chaos.crash_middleware.Cut", *MIDDLEWARE]  # noqa: F405
# Some tests shorten the time after which the broker redelivers a message.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    **CELERY_BROKER_TRANSPORT_OPTIONS,  # noqa: F405
    "visibility_timeout": env.integer("CHAOS_VISIBILITY", CELERY_VISIBILITY_TIMEOUT),  # noqa: F405
}
