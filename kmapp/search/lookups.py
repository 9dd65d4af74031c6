"""Many ids at once, on their way to Postgres and back.

`field__any_of=Ids(…)`: one of many ids, sent as one value. Django's own `__in` makes a parameter of
each; of two hundred, writing the statement takes longer than Postgres takes to answer it.

A search looks its candidates up by their ids thousands of times. A UUID works out its hash in
Python each time; a string knows it. So ids stay what they are on the wire while there are many.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import ForeignKey, Lookup, UUIDField
from psycopg.types.string import TextLoader

from kmapp.ids import IdText


@contextmanager
def id_texts() -> Iterator[CursorWrapper]:
    """A cursor that gives ids as texts."""
    with connection.cursor() as cursor:
        cursor.cursor.adapters.register_loader("uuid", TextLoader)
        yield cursor


class Ids:
    """Ids as Postgres reads an array of them. Not iterable: Django would look at each."""

    __slots__ = ("array",)

    def __init__(self, these: Iterable[UUID | IdText]) -> None:
        self.array = "{" + ",".join(map(str, these)) + "}"


@ForeignKey.register_lookup
@UUIDField.register_lookup
class AnyOf(Lookup):
    lookup_name = "any_of"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        left, parameters = self.process_lhs(compiler, connection)
        return f"{left} = ANY (%s::uuid[])", [*parameters, self.rhs.array]
