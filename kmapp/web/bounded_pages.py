"""Pages of long lists, whose rows are counted up to a limit."""

from typing import TYPE_CHECKING, Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

from kmapp.web import bounded_counts
from kmapp.web.http import PAGE_SIZE

if TYPE_CHECKING:
    _Paginator = Paginator[Any]
else:
    _Paginator = Paginator


class BoundedPaginator(_Paginator):
    """Pages of the first rows: counting all rows of a large account would read them all."""

    @cached_property
    def _counted(self) -> int:
        rows = self.object_list
        if isinstance(rows, QuerySet):
            return bounded_counts.count_figures({"rows": rows})["rows"]
        return len(rows)

    @cached_property
    def count(self) -> int:
        """Return the number of rows that the pages show."""
        return min(self._counted, bounded_counts.MAX_FIGURE - 1)

    @property
    def is_exact(self) -> bool:
        return bounded_counts.is_exact(self._counted)

    @property
    def total(self) -> int | str:
        """Return the number of all rows, for example 12 or 9999+."""
        return self.count if self.is_exact else bounded_counts.format_figure(self._counted)


def paginate_bounded(request: HttpRequest, rows: Any) -> Page[Any]:
    return BoundedPaginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
