"""The product's own settings, with jobs that are slow on purpose. Everything else as shipped."""

from kmapp.settings import *  # noqa: F403

INSTALLED_APPS = [*INSTALLED_APPS, "tests.chaos"]  # noqa: F405
