"""Pages of topics: list, members, map, actions."""

from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import IntegerField, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from kmapp.errors import Invalid
from kmapp.web.http import (
    WebRequest,
    account_id_for,
    actor_for,
    fragment,
    parse_row_number,
    post_text,
    uuid_or_404,
)
from kmapp.web.notices import notify_success
from kmapp.web.page_access import reviewer_required
from memory.actions import topics as topic_actions
from memory.actions.review import Decision
from memory.actions.topic_growth import CURRENT_STATUSES, member_edges
from memory.models import EntryQuerySet, MemoryEntry, TopicSuggestion
from memory.retrieval.visibility import Audience
from memory.views.review_forms import REASON
from memory.views.topic_map import map_of

PAGE = 50
SUGGESTED = 10  # shown at once
OTHERS = 200  # topics that one may be merged into
NAME = 200  # characters
STATES = {"": CURRENT_STATUSES, "active": ("active",), "draft": ("draft",)}


@require_safe
@reviewer_required
def topics(request: WebRequest) -> HttpResponse:
    """List topics, largest first."""
    state, words = request.GET.get("state", ""), request.GET.get("q", "").strip()[:NAME]
    rows = _topics(request).filter(status__in=STATES.get(state, CURRENT_STATUSES))
    if words:
        rows = rows.filter(title__icontains=words.replace("\x00", ""))
    held = Coalesce(Cast(KT("slots__member_count"), IntegerField()), Value(0))
    rows = rows.annotate(held=held).order_by("-held", "pk")
    context = {
        "page": Paginator(rows, PAGE).get_page(request.GET.get("page")),
        "state": state,
        "words": words,
        "suggestions": topic_actions.open_suggestions(account_id_for(request))[:SUGGESTED],
    }
    return render(request, fragment(request, "memory/topics/index.html", "list"), context)


@require_safe
@reviewer_required
def topic(request: WebRequest, pk: UUID) -> HttpResponse:
    """One that was merged or forgotten is told as the memory that it is."""
    topic_row = get_object_or_404(MemoryEntry.objects.of(account_id_for(request)), pk=pk)
    if topic_row.kind != MemoryEntry.Kind.TOPIC or topic_row.status not in CURRENT_STATUSES:
        return redirect("memory:entry", pk=pk)
    members = member_edges(topic_row.account_id, pk).order_by("-created_at", "-pk")
    page = Paginator(members.select_related("src"), PAGE).get_page(request.GET.get("page"))
    context: dict[str, Any] = {"topic": topic_row, "page": page, "longest": NAME}
    template = fragment(request, "memory/topics/detail.html", "members")
    if template.endswith(".html"):
        context |= {
            "others": _others(topic_row),
            "merged": topic_actions.list_merged_topics(topic_row.account_id, pk),
        }
    return render(request, template, context)


@require_safe
@reviewer_required
def neighbourhood(request: WebRequest, pk: UUID) -> HttpResponse:
    """Render the map, which takes longer than the page."""
    topic_row = get_object_or_404(_topics(request), pk=pk)
    context = {"topic": topic_row, "map": map_of(topic_row)}
    return render(request, "memory/topics/detail.html#map", context)


@require_POST
@reviewer_required
def rename(request: WebRequest, pk: UUID) -> HttpResponse:
    topic_row = topic_actions.rename_topic(_decision(request, pk), post_text(request, "name", NAME))
    return _done(request, topic_row, _("Renamed."))


@require_POST
@reviewer_required
def promote(request: WebRequest, pk: UUID) -> HttpResponse:
    topic_row = topic_actions.promote_draft(_decision(request, pk))
    return _done(request, topic_row, _("Promoted. Agents can now see this topic."))


@require_POST
@reviewer_required
def merge(request: WebRequest, pk: UUID) -> HttpResponse:
    into = request.POST.get("into") or request.GET.get("into")
    if not into:
        raise Invalid(_("Choose the topic to merge this one into."))
    gone = topic_actions.merge_topics(_decision(request, pk), uuid_or_404(into))
    notify_success(
        request, _("Merged. This topic now contains the memories of both."), undo=_undo(gone)
    )
    return _go(request, reverse("memory:topic", args=[into]))


@require_POST
@reviewer_required
def part(request: WebRequest, pk: UUID) -> HttpResponse:
    """Take back that this topic was merged, also long after."""
    again = topic_actions.unmerge_topic(_decision(request, pk))
    notify_success(request, _("Undone. The two topics are separate again."))
    return _go(request, reverse("memory:topic", args=[again.pk]))


@require_POST
@reviewer_required
def follow(request: WebRequest, pk: UUID) -> HttpResponse:
    message, changed = topic_actions.accept_suggestion(
        account_id_for(request), pk, actor_for(request)
    )
    if message.kind == TopicSuggestion.Kind.SPLIT:  # merged back, all is as it was
        undo = f"{reverse('memory:topic_merge', args=[changed.pk])}?into={message.topic_id}"
        notify_success(
            request, _("Split. The selected memories now have a topic of their own."), undo=undo
        )
    else:
        notify_success(
            request,
            _("Merged. The larger topic now contains the memories of both."),
            undo=_undo(changed),
        )
    return _go(request, reverse("memory:topics"))


@require_POST
@reviewer_required
def decline(request: WebRequest, pk: UUID) -> HttpResponse:
    topic_actions.decline_suggestion(account_id_for(request), pk, actor_for(request))
    notify_success(request, _("Declined. It will not be suggested again."))
    return _go(request, reverse("memory:topics"))


def _go(request: WebRequest, there: str) -> HttpResponse:
    """On to a page, also for a part of one that was asked for, such as a notice."""
    if request.htmx:
        return HttpResponse(headers={"HX-Redirect": there})
    return redirect(there)


def _topics(request: WebRequest) -> EntryQuerySet:
    return MemoryEntry.objects.of(account_id_for(request)).filter(kind=MemoryEntry.Kind.TOPIC)


def _others(topic_row: MemoryEntry) -> list[MemoryEntry]:
    """Return the other topics of the same audience, by name."""
    rows = topic_actions.current_topics(topic_row.account_id).exclude(pk=topic_row.pk)
    alike = rows.filter(**Audience.of_entry(topic_row).fields)
    return list(alike.only("pk", "title", "account_id").order_by("title", "pk")[:OTHERS])


def _decision(request: WebRequest, pk: UUID) -> Decision:
    version = parse_row_number(request.POST.get("version", ""))
    return Decision(
        account_id=account_id_for(request),
        entry_id=pk,
        actor=actor_for(request),
        version=version,
        reason=post_text(request, "reason", REASON),
    )


def _done(request: WebRequest, topic_row: MemoryEntry, message: str) -> HttpResponse:
    notify_success(request, message, undo=_undo(topic_row))
    return redirect("memory:topic", pk=topic_row.pk)


def _undo(changed: MemoryEntry) -> str:
    return f"{reverse('memory:undo', args=[changed.pk])}?version={changed.version}"
