"""Page of all documents, with filters."""

from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.utils.translation import gettext_lazy

from kmapp.web.actor_names import list_actor_names
from kmapp.web.filters import Filters, choice, text
from kmapp.web.http import WebRequest, paginate
from kmapp.web.page_access import page_view
from kmapp.web.responses import render_part
from knowledge.models import KnowledgeDocument


class DocumentFilters(Filters):
    q = text(gettext_lazy("Title or path"), method="filter_name")
    tag = text(gettext_lazy("Tag"), method="filter_tag")
    review = choice(
        gettext_lazy("Review"),
        [
            ("stale", gettext_lazy("stale")),
            ("mine", gettext_lazy("requested from me")),
            ("requested", gettext_lazy("requested from anyone")),
        ],
        method="filter_review",
    )
    owner = choice(gettext_lazy("Owner"), [("me", gettext_lazy("me"))], method="filter_owner")

    class Meta:
        model = KnowledgeDocument
        fields: tuple[str, ...] = ()

    def filter_name(self, rows: QuerySet[Any], _name: str, value: str) -> QuerySet[Any]:
        return rows.filter(Q(title__icontains=value) | Q(ref__icontains=value))

    def filter_tag(self, rows: QuerySet[Any], _name: str, value: str) -> QuerySet[Any]:
        return rows.filter(tags__contains=[value.lower()])

    def filter_review(self, rows: Any, _name: str, value: str) -> QuerySet[Any]:
        if value == "stale":
            return rows.stale()  # type: ignore[no-any-return]  # a queryset of documents
        if value == "mine":
            return rows.filter(reviewer=str(self.request.actor))  # type: ignore[no-any-return]
        return rows.exclude(reviewer="")  # type: ignore[no-any-return]

    def filter_owner(self, rows: QuerySet[Any], _name: str, _value: str) -> QuerySet[Any]:
        return rows.filter(owner=str(self.request.actor))


@page_view("GET")
def documents(request: WebRequest) -> HttpResponse:
    rows = KnowledgeDocument.objects.of(request.account_id).not_removed().select_related("source")
    filters = DocumentFilters(request.GET, rows.newest_first(), request=request)
    page = paginate(request, filters.qs)
    people = {name for row in page.object_list for name in (row.owner, row.reviewer) if name}
    context = {"page": page, "filter": filters, "names": list_actor_names(people)}
    return render_part(request, "knowledge/documents/index.html", "list", context)
