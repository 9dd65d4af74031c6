"""Arrays of ids in SQL conditions.

`field__any_of=Ids(…)`: one of many ids, sent as one value. Django's own `__in` makes a parameter of
each; of two hundred, writing the statement takes longer than Postgres takes to answer it.

A search looks its candidates up by their ids thousands of times. A UUID works out its hash in
Python each time; a string knows it. So statements give ids as texts while there are many.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import ForeignKey, Lookup, UUIDField

from kmapp.database.ids import IdText


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
