"""The product's own settings, with jobs and requests that hurt. Everything else as shipped."""

from kmapp.runtime import env
from kmapp.settings import *  # noqa: F403

INSTALLED_APPS = [*INSTALLED_APPS, "tests.chaos"]  # noqa: F405
MIDDLEWARE = ["tests.chaos.crash_middleware.Cut", *MIDDLEWARE]  # noqa: F405
# What the broker takes for dead, where a test wants it to be wrong.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    **CELERY_BROKER_TRANSPORT_OPTIONS,  # noqa: F405
    "visibility_timeout": env.integer("CHAOS_VISIBILITY", CELERY_VISIBILITY_TIMEOUT),  # noqa: F405
}
