"""Pages of topics: list, members, map, actions."""

from collections import defaultdict
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models import Case, IntegerField, Value, When
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from kmapp.errors import Invalid
from kmapp.providers.active_models import active_model
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.nearest_search import find_nearest
from kmapp.search.query_vector import QueryVector
from kmapp.web.http import (
    WebRequest,
    get_row_or_404,
    paginate,
    parse_row_number,
    post_text,
    uuid_or_404,
)
from kmapp.web.page_access import page_view
from kmapp.web.responses import fragment, redirect_page, redirect_with_notice, render_part
from kmapp.web.statistics.daily import build_charts
from memory.actions import topic_editing as topic_actions
from memory.actions.clustering_input import CURRENT_STATUSES, find_topics, load_vectors
from memory.actions.review import Decision
from memory.actions.topic_growth import member_edges
from memory.models import EntryQuerySet, MemoryEntry, TopicSuggestion
from memory.models.entries import COLLECTION
from memory.retrieval.shared_audience import Audience
from memory.topics.clustering import Vectors
from memory.topics.projection import HEIGHT, WIDTH, project
from memory.views.review_forms import build_decision, undo_url

MAX_SUGGESTIONS = 10  # on the page
MAX_OTHERS = 200  # topics to select from for a merge
MAX_NAME_LENGTH = 200  # characters
OWN_LIMIT, NEIGHBOUR_LIMIT = 150, 60  # memories on the map: of the topic, of each other topic
NEAREST = 200  # memories from which the other topics of the map are selected
TOPICS = 3  # other topics on the map
# Agents may store topics with any metadata.
MEMBER_COUNT = Case(
    When(
        slots__member_count__regex="^[0-9]{1,9}$",
        then=Cast(KT("slots__member_count"), IntegerField()),
    ),
    default=Value(0),
)
STATES = {"": CURRENT_STATUSES, "active": ("active",), "draft": ("draft",)}


@page_view("GET")
def topics(request: WebRequest) -> HttpResponse:
    state, words = request.GET.get("state", ""), request.GET.get("q", "").strip()[:MAX_NAME_LENGTH]
    rows = _topics(request).filter(status__in=STATES.get(state, CURRENT_STATUSES))
    if words:
        rows = rows.filter(title__icontains=words.replace("\x00", ""))
    rows = rows.annotate(member_count=MEMBER_COUNT).order_by("-member_count", "pk")
    context = {
        "page": paginate(request, rows),
        "state": state,
        "words": words,
        "charts": build_charts(request.account_id, ["topics"]),
        "suggestions": topic_actions.open_suggestions(request.account_id)[:MAX_SUGGESTIONS],
    }
    return render_part(request, "memory/topics/index.html", "list", context)


@page_view("GET")
def topic(request: WebRequest, pk: UUID) -> HttpResponse:
    """Render a topic, or redirect to its memory if it was merged or forgotten."""
    topic_row = get_row_or_404(request, MemoryEntry, pk)
    if topic_row.kind != MemoryEntry.Kind.TOPIC or topic_row.status not in CURRENT_STATUSES:
        return redirect("memory:entry", pk=pk)
    members = member_edges(topic_row.account_id, pk).order_by("-created_at", "-pk")
    page = paginate(request, members.select_related("src"))
    context: dict[str, Any] = {"topic": topic_row, "page": page, "max_length": MAX_NAME_LENGTH}
    template = fragment(request, "memory/topics/detail.html", "members")
    if template.endswith(".html"):
        context["others"] = _list_merge_targets(topic_row)
        context["merged"] = topic_actions.list_merged_topics(topic_row.account_id, pk)
    return render(request, template, context)


@page_view("GET")
def topic_map(request: WebRequest, pk: UUID) -> HttpResponse:
    """Render the map, separately because it takes longer than the page."""
    topic_row = get_object_or_404(_topics(request), pk=pk)
    context = {"topic": topic_row, "map": _build_map(topic_row)}
    return render(request, "memory/topics/detail.html#map", context)


@page_view("POST")
def rename(request: WebRequest, pk: UUID) -> HttpResponse:
    name = post_text(request, "name", MAX_NAME_LENGTH)
    topic_row = topic_actions.rename_topic(_decision(request, pk), name)
    return _redirect(request, topic_row, _("Renamed."))


@page_view("POST")
def promote(request: WebRequest, pk: UUID) -> HttpResponse:
    topic_row = topic_actions.promote_draft(_decision(request, pk))
    return _redirect(request, topic_row, _("Promoted. Agents can now see this topic."))


@page_view("POST")
def merge(request: WebRequest, pk: UUID) -> HttpResponse:
    into = request.POST.get("into") or request.GET.get("into")
    if not into:
        raise Invalid(_("Choose the topic to merge this one into."))
    merged = topic_actions.merge_topics(_decision(request, pk), uuid_or_404(into))
    message = _("Merged. This topic now contains the memories of both.")
    url = reverse("memory:topic", args=[into])
    return redirect_page(request, url, notice=message, undo=undo_url(merged))


@page_view("POST")
def unmerge(request: WebRequest, pk: UUID) -> HttpResponse:
    topic_actions.unmerge_topic(_decision(request, pk))
    message = _("Undone. The two topics are separate again.")
    return redirect_page(request, reverse("memory:topic", args=[pk]), notice=message)


@page_view("POST")
def accept(request: WebRequest, pk: UUID) -> HttpResponse:
    suggestion, changed = topic_actions.accept_suggestion(request.account_id, pk, request.actor)
    if suggestion.kind == TopicSuggestion.Kind.SPLIT:
        message = _("Split. The selected memories now have a topic of their own.")
        # Merging the new topic undoes the split.
        undo = f"{reverse('memory:topic_merge', args=[changed.pk])}?into={suggestion.topic_id}"
    else:
        message = _("Merged. The larger topic now contains the memories of both.")
        undo = undo_url(changed)
    return redirect_page(request, reverse("memory:topics"), notice=message, undo=undo)


@page_view("POST")
def decline(request: WebRequest, pk: UUID) -> HttpResponse:
    topic_actions.decline_suggestion(request.account_id, pk, request.actor)
    message = _("Declined. It will not be suggested again.")
    return redirect_page(request, reverse("memory:topics"), notice=message)


def _topics(request: WebRequest) -> EntryQuerySet:
    return MemoryEntry.objects.of(request.account_id).filter(kind=MemoryEntry.Kind.TOPIC)


def _list_merge_targets(topic_row: MemoryEntry) -> list[MemoryEntry]:
    rows = topic_actions.current_topics(topic_row.account_id).exclude(pk=topic_row.pk)
    rows = rows.filter(**Audience.of_entry(topic_row).fields)
    return list(rows.only("pk", "title", "account_id").order_by("title", "pk")[:MAX_OTHERS])


def _decision(request: WebRequest, pk: UUID) -> Decision:
    return build_decision(request, pk, parse_row_number(request.POST.get("version", "")))


def _redirect(request: WebRequest, topic_row: MemoryEntry, message: str) -> HttpResponse:
    undo = undo_url(topic_row)
    return redirect_with_notice(request, message, "memory:topic", undo=undo, pk=topic_row.pk)


def _build_map(topic: MemoryEntry) -> dict[str, Any] | None:
    """Return points with their memories and topics, or None while the topic has no vectors."""
    account_id = topic.account_id
    newest = member_edges(account_id, topic.pk).order_by("-src_id")
    own = list(newest.values_list("src_id", flat=True)[:OWN_LIMIT])
    vectors = load_vectors(account_id, own)
    if not vectors:
        return None
    center = np.mean(list(vectors.values()), axis=0)
    members: dict[UUID, list[UUID]] = defaultdict(list)
    for pk, other_topic in _find_nearby_topics(topic, center).items():
        if len(members[other_topic]) < NEIGHBOUR_LIMIT:
            members[other_topic].append(pk)
    others = sorted(members.keys() - {topic.pk}, key=lambda pk: (-len(members[pk]), pk))[:TOPICS]
    rows = MemoryEntry.objects.of(account_id).in_bulk(others)
    groups = [(topic, own), *((rows[pk], members[pk]) for pk in others if pk in rows)]
    vectors |= load_vectors(account_id, [pk for _, ids in groups[1:] for pk in ids])
    drawn = [(number, pk) for number, (_, ids) in enumerate(groups) for pk in ids if pk in vectors]
    points = project(np.array([vectors[pk] for _, pk in drawn], dtype=np.float32))
    texts = MemoryEntry.objects.of(account_id).only("pk", "content", "account_id")
    entries_by_id = texts.in_bulk([pk for _, pk in drawn])
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "topics": [each for each, _ in groups],
        "points": [
            {"at": point, "group": number, "entry": entries_by_id[pk]}
            for (number, pk), point in zip(drawn, points, strict=True)
            if pk in entries_by_id
        ][::-1],  # the members of the topic come last, so that they are drawn over the others
    }


def _find_nearby_topics(topic: MemoryEntry, center: Vectors) -> dict[UUID, UUID]:
    """Return nearby memories of the same audience, with their topics."""
    rows = MemoryEntry.objects.of(topic.account_id).current()
    within = AllowedObjects.from_queryset(rows.filter(**Audience.of_entry(topic).fields))
    collection = Collection(account_id=topic.account_id, name=COLLECTION)
    meaning = QueryVector.from_floats(active_model(), center.tolist())
    nearby = find_nearest(collection, meaning, within=within, limit=NEAREST)
    return find_topics(topic.account_id, [UUID(each) for each in nearby])
