"""Pages of document details: all documents with filters, changes, reviews, the home section."""

from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Membership
from kmapp.web.actor_names import list_actor_names
from kmapp.web.filters import Filters, choice, text
from kmapp.web.forms import Styled
from kmapp.web.http import WebRequest, paginate
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_form, render_part, render_polled
from kmapp.web.time_zones import exists_in_every_zone
from knowledge.actions.owners_and_reviews import PEOPLE, change_details, complete_review
from knowledge.models import KnowledgeDocument
from knowledge.models.documents import MAX_TAG_LENGTH, MAX_TAGS
from knowledge.views.documents import get_document

MAX_LATEST = 8  # documents of the home section
END_OF_DAY = time(23, 59, 59)
REVIEW_PERIODS = {"90": 90, "180": 180, "365": 365, "": None}  # days


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


class DetailsForm(Styled):
    """The page contains each detail twice, so that only what the person changes is saved."""

    tags = forms.CharField(
        label=gettext_lazy("Tags"),
        required=False,
        max_length=MAX_TAGS * (MAX_TAG_LENGTH + 2),
        help_text=gettext_lazy("Separate tags with commas."),
    )
    owner = forms.ChoiceField(
        label=gettext_lazy("Owner"),
        required=False,
        help_text=gettext_lazy("The person who answers for the content."),
    )
    review_after = forms.DateField(
        label=gettext_lazy("Stale after"),
        required=False,
        help_text=gettext_lazy("After this day, the document is listed as stale until reviewed."),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    reviewer = forms.ChoiceField(
        label=gettext_lazy("Request a review from"),
        required=False,
        help_text=gettext_lazy("The document appears on the home page of this person."),
    )

    def __init__(self, *args: Any, members: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.show_hidden_initial = True
        for name in PEOPLE:
            field, stored = self.fields[name], self.initial[name]
            assert isinstance(field, forms.ChoiceField)  # noqa: S101 - for the type checker
            people = dict(members)
            if stored and stored not in people:  # has left the account
                people |= list_actor_names([stored])
            field.choices = [("", _("nobody")), *people.items()]

    def clean_tags(self) -> list[str]:
        text = self.cleaned_data["tags"].replace("，", ",")
        words = (word.strip().lower() for word in text.split(","))
        tags = list(dict.fromkeys(word for word in words if word))
        if len(tags) > MAX_TAGS or any(len(tag) > MAX_TAG_LENGTH for tag in tags):
            raise forms.ValidationError(
                _("Enter at most %(most)d tags of at most %(length)d characters.")
                % {"most": MAX_TAGS, "length": MAX_TAG_LENGTH}
            )
        return tags

    def clean_review_after(self) -> date | None:
        day: date | None = self.cleaned_data["review_after"]
        if day and not exists_in_every_zone(datetime.combine(day, END_OF_DAY)):
            raise forms.ValidationError(self.fields["review_after"].error_messages["invalid"])
        return day

    def values(self) -> dict[str, Any]:
        """Return the details that the person changed."""
        day = self.cleaned_data["review_after"]
        moment = timezone.make_aware(datetime.combine(day, END_OF_DAY)) if day else None
        values = {**self.cleaned_data, "review_after": moment}
        return {name: values[name] for name in self.changed_data}


def list_members(account_id: UUID) -> list[tuple[str, str]]:
    rows = Membership.objects.of(account_id).values_list("user_id", flat=True)
    names = list_actor_names(str(Actor("user", pk)) for pk in rows)
    return sorted(names.items(), key=lambda item: item[1].casefold())


@page_view("GET")
def documents(request: WebRequest) -> HttpResponse:
    rows = KnowledgeDocument.objects.of(request.account_id).not_removed().select_related("source")
    filters = DocumentFilters(request.GET, rows.newest_first(), request=request)
    page = paginate(request, filters.qs)
    people = {name for row in page.object_list for name in (row.owner, row.reviewer) if name}
    context = {"page": page, "filter": filters, "names": list_actor_names(people)}
    return render_part(request, "knowledge/documents/index.html", "list", context)


@page_view("GET", "POST")
def details(request: WebRequest, pk: UUID) -> HttpResponse:
    document = get_document(request, pk)
    members = list_members(request.account_id)
    initial = {
        "tags": ", ".join(document.tags),
        "owner": document.owner,
        "reviewer": document.reviewer,
        "review_after": document.review_after and timezone.localdate(document.review_after),
    }
    form = DetailsForm(request.POST or None, initial=initial, members=members)
    if request.method == "POST" and form.is_valid():
        change_details(request.account_id, request.actor, pk, form.values())
        return redirect_with_notice(request, _("Details saved."), "knowledge:document", pk=pk)
    context = {"form": form, "document": document}
    return render_form(request, "knowledge/documents/details.html", context, invalid=form.is_bound)


@page_view("POST")
def review(request: WebRequest, pk: UUID) -> HttpResponse:
    """Record that the document is up to date."""
    days = REVIEW_PERIODS.get(request.POST.get("days", ""))
    review_after = timezone.now() + timedelta(days=days) if days else None
    complete_review(request.account_id, request.actor, pk, review_after=review_after)
    return redirect_with_notice(request, _("Marked as reviewed."), "knowledge:document", pk=pk)


@page_view("GET")
def summary(request: WebRequest) -> HttpResponse:
    """Render the section of the home page: requested reviews, stale documents, failures."""
    rows = KnowledgeDocument.objects.of(request.account_id).not_removed()
    requested = rows.filter(reviewer=str(request.actor)).newest_first()
    context = {
        "requested": list(requested[:MAX_LATEST]),
        "stale": rows.stale().count(),
        "failed": rows.filter(state=KnowledgeDocument.State.FAILED).count(),
    }
    return render_polled(request, "knowledge/summary/index.html", context, part="panel")
