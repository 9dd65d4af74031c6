"""Configuration of the interop app."""

from importlib import import_module

from django.apps import AppConfig


class InteropConfig(AppConfig):
    """Protocols of other products, served through the native API."""

    name = "interop"
    verbose_name = "Interoperability"

    def ready(self) -> None:
        import_module("interop.mem0.webhooks")  # registers the payloads of its receivers
