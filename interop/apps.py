"""Configuration of the interop app."""

from django.apps import AppConfig


class InteropConfig(AppConfig):
    """Protocols of other products, served through the native API."""

    name = "interop"
    verbose_name = "Interoperability"
