"""Pages on which people change the details of a document or record its review."""

from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Membership
from kmapp.web.actor_names import list_actor_names
from kmapp.web.forms import Styled
from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_form
from kmapp.web.time_zones import exists_in_every_zone
from knowledge.actions.document_details import PEOPLE, change_details, complete_review
from knowledge.models.documents import MAX_TAG_LENGTH, MAX_TAGS
from knowledge.views.documents import get_document

END_OF_DAY = time(23, 59, 59)
REVIEW_PERIODS = {"90": 90, "180": 180, "365": 365, "": None}  # days


class DetailsForm(Styled):
    """Details with hidden initial values, so that only what the person changes is saved."""

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
