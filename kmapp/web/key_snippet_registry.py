"""Snippets with a new API key, offered by the apps that know how clients connect."""

from collections.abc import Callable, Sequence
from typing import Protocol

from django.http import HttpRequest
from django.utils.functional import Promise


class KeySnippet(Protocol):
    """A block to copy, and the file or place for it."""

    @property
    def label(self) -> str | Promise:
        """Return the client, or the file that the block belongs to."""

    @property
    def text(self) -> str:
        """Return the block."""


Provider = Callable[[HttpRequest, str], Sequence[KeySnippet]]
_providers: list[Provider] = []


def offers_key_snippets(provider: Provider) -> Provider:
    """Register a function that returns snippets for a request and the secret of a key."""
    _providers.append(provider)
    return provider


def list_key_snippets(request: HttpRequest, secret: str) -> list[KeySnippet]:
    return [snippet for provider in _providers for snippet in provider(request, secret)]
