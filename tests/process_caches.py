"""Caches of what the product reads once per process, and tests would read once per test.

Each test client creates its own middleware, and each fake provider its own HTTP client. The test
client also copies the contexts of templates, which the product does not do.
"""

import os
import threading
from functools import cache
from ssl import SSLContext
from typing import Any

import httpcore2
import pytest
from django.db import connections
from django.test import client
from whitenoise.middleware import WhiteNoiseMiddleware  # type: ignore[import-untyped]

_patch = pytest.MonkeyPatch()  # for the whole run


def install() -> None:
    """Share static files, trusted certificates and connections; copy fewer template contexts."""
    _share_static_files()
    _share_trusted_certificates()
    _share_connections()
    _copy_contexts_of_pages()


def _share_static_files() -> None:
    add_files = WhiteNoiseMiddleware.add_files_from_finders
    shared: dict[tuple[Any, ...], dict[str, Any]] = {}

    def add_shared_files(middleware: WhiteNoiseMiddleware) -> None:
        key = (middleware.static_prefix, middleware.max_age, middleware.static_root)
        if key not in shared:
            add_files(middleware)
            shared[key] = dict(middleware.files)
        middleware.files.update(shared[key])

    _patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", add_shared_files)


def _share_trusted_certificates() -> None:
    create_context = httpcore2.default_ssl_context

    @cache
    def load(_file: str | None, _folder: str | None, *, trust_env: bool) -> SSLContext:
        return create_context(_trust_env=trust_env)

    def get_shared_context(*, _trust_env: bool = True) -> SSLContext:
        names = ("SSL_CERT_FILE", "SSL_CERT_DIR")
        return load(*map(os.environ.get, names), trust_env=_trust_env)

    _patch.setattr(httpcore2, "default_ssl_context", get_shared_context)


def _share_connections() -> None:
    """Store connections by thread only.

    Django's storage uses separate connections while an event loop runs in a thread. Playwright runs
    one in the thread of the tests, where a fixture selects the database for code inside and outside
    the event loop.
    """
    _patch.setattr(connections, "_connections", threading.local())


def _copy_contexts_of_pages() -> None:
    """Copy the context of each page, and not those of all templates that it includes."""
    store_context = client.store_rendered_templates  # type: ignore[attr-defined]

    def store_page_context(
        stored: dict[str, Any], signal: Any, sender: Any, template: Any, context: Any, **more: Any
    ) -> None:
        if context.template is template or "context" not in stored:
            store_context(stored, signal, sender, template, context, **more)

    _patch.setattr(client, "store_rendered_templates", store_page_context)
