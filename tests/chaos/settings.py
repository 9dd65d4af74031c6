"""The product's settings, with jobs and a middleware that inject faults."""

from kmapp.runtime import env
from kmapp.settings import *  # noqa: F403

INSTALLED_APPS = [*INSTALLED_APPS, "tests.chaos"]  # noqa: F405
MIDDLEWARE = ["tests.chaos.crash_middleware.CrashMiddleware", *MIDDLEWARE]  # noqa: F405
# Some tests shorten the time after which the broker redelivers a message.
CELERY_BROKER_TRANSPORT_OPTIONS["visibility_timeout"] = env.integer(  # noqa: F405
    "CHAOS_VISIBILITY",
    CELERY_BROKER_TRANSPORT_OPTIONS["visibility_timeout"],  # noqa: F405
)
# One test lets beat store its schedule after each task.
CELERY_BEAT_SYNC_EVERY = env.integer("CHAOS_SYNC_EVERY", 0)
