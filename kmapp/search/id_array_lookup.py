"""Arrays of ids in SQL conditions.

`field__any_of=IdArray(…)` sends many ids as one value. Django's `__in` creates a parameter for
each; for two hundred, building the statement takes longer than Postgres takes to answer it.

A search looks up candidates by id thousands of times. A UUID computes its hash in Python each time,
a string caches it. So statements return ids as text where there are many.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import ForeignKey, Lookup, UUIDField

from kmapp.database.ids import IdText


class IdArray:
    """Ids as an array literal of Postgres. Not iterable, because Django would inspect each id.

    psycopg takes longer to convert a list, also of numbers.
    """

    __slots__ = ("array",)

    def __init__(self, ids: Iterable[UUID | IdText | int]) -> None:
        self.array = "{" + ",".join(map(str, ids)) + "}"


@ForeignKey.register_lookup
@UUIDField.register_lookup
class AnyOf(Lookup):
    lookup_name = "any_of"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        left, parameters = self.process_lhs(compiler, connection)
        return f"{left} = ANY (%s::uuid[])", [*parameters, self.rhs.array]
