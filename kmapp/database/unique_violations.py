"""Rows that a unique constraint refuses, because another request was first."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import IntegrityError, transaction

from kmapp.errors import Conflict


@contextmanager
def refuse_duplicate(message: str) -> Iterator[None]:
    """Raise Conflict if what the block writes exists already. Inside a transaction."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        raise Conflict(message) from error
