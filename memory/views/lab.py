"""The recall lab: queries as agents send them, with explained results that people can rate."""

import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.permissions import Permission
from kmapp.errors import Invalid
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import WebRequest, get_row_or_404, safe_next_url
from kmapp.web.page_access import page_view
from kmapp.web.responses import format_api_command
from kmapp.web.success_messages import notify_success
from memory.actions.feedback import rate_entry
from memory.actions.judgements import load_labels
from memory.actions.review import Decision
from memory.models import MemoryEntry, MemoryRating
from memory.retrieval.lab import Endpoint, LabHit, LabQuery, MissedMemory, Trial, run_trial
from memory.retrieval.score_breakdown import build_bar, build_legend
from memory.views.lab_forms import ID_FIELDS, QuestionForm, SettingForm

TEMPLATE = "memory/lab/index.html"
Outcome = MemoryRating.Outcome
OFFERED_OUTCOMES = (Outcome.POSITIVE, Outcome.NEGATIVE, Outcome.VERY_NEGATIVE)
# The URL name of each endpoint, and its field for the maximum number of memories.
API_ENDPOINTS = {
    Endpoint.SEARCH: ("memory:api_search", "limit"),
    Endpoint.RECALL: ("memory:api_recall_text", "limit"),
    Endpoint.INJECT: ("memory:api_inject", "max_memories"),
}
SECOND_PREFIX = "b"  # prefix of the parameters of the second configuration
DECISION_TEXTS = {
    "km_timeout": _("Keyword search only: the embedder did not respond in time."),
    "km_circuit_open": _("Keyword search only: the embedder failed recently and is paused."),
    "km_provider_error": _("Keyword search only: the embedder failed."),
    "km_bad_vector": _("Keyword search only: the embedder returned an invalid vector."),
    "km_reranked": _("The top results were reranked."),
    "km_rerank_failed": _("Not reranked: the reranker did not respond."),
    "km_memory_off": _("Memory injection is turned off in the account's policy."),
    "km_query_vector_cached": _("The question's embedding was cached."),
}


@page_view("GET")
def lab(request: WebRequest) -> HttpResponse | AfterCommit:
    """Run the query. Models are called outside the account's transaction."""
    has_query, compare = bool(request.GET.get("query")), bool(request.GET.get("compare"))
    question = QuestionForm(request.GET if has_query else None)
    ids = {name: request.GET[name] for name in ID_FIELDS if request.GET.get(name)}
    setting_forms = [SettingForm(request.GET) if has_query else SettingForm(initial=ids)]
    if compare:
        setting_forms.append(SettingForm(_build_second_params(request), prefix=SECOND_PREFIX))
    context: dict[str, Any] = {"question": question, "forms": setting_forms, "compare": compare}
    if not has_query:
        return render(request, TEMPLATE, context)
    if not all(form.is_valid() for form in (question, *setting_forms)):
        return render(request, TEMPLATE, context, status=400)
    questions = [form.question(question.cleaned_data["query"]) for form in setting_forms]
    return AfterCommit(partial(_run_queries, request, context, questions), outside_transaction=True)


def _build_second_params(request: WebRequest) -> dict[str, str]:
    """Return the parameters of the second configuration, which starts as a copy of the first."""
    params = {name: str(value) for name, value in request.GET.items()}
    second_params = {
        name: value for name, value in params.items() if name.startswith(f"{SECOND_PREFIX}-")
    }
    return second_params or {f"{SECOND_PREFIX}-{name}": value for name, value in params.items()}


def _run_queries(
    request: WebRequest, context: dict[str, Any], questions: Sequence[LabQuery]
) -> AfterCommit:
    trials = [run_trial(request.account_id, question) for question in questions]
    trial_rows = [_serialize_trial(request, trial, reference=trials[0]) for trial in trials]
    bars = [row["bar"] for trial in trial_rows for row in (*trial["results"], *trial["missed"])]
    results = {"trials": trial_rows, "legend": build_legend(bars), "outcomes": OFFERED_OUTCOMES}
    return AfterCommit(lambda: _render_results(request, context | results))


def _render_results(request: WebRequest, context: dict[str, Any]) -> HttpResponse:
    """Render the results with earlier judgements, and the person's ratings."""
    for trial in context["trials"]:
        search = trial["trial"].question.search
        ids = [row["one"].hit.entry.pk for row in trial["results"]]
        labels = load_labels(request.account_id, search.query, search.viewer, ids)
        for row in trial["results"]:
            row["label"] = labels.get(row["one"].hit.entry.pk, "")
    rows = [row for trial in context["trials"] for row in trial["results"]]
    ratings = _load_ratings(request, (row["one"].hit.entry.pk for row in rows))
    for row in rows:
        row["rating"] = ratings.get(row["one"].hit.entry.pk, "")
    return render(request, TEMPLATE, context)


def _serialize_trial(request: WebRequest, trial: Trial, *, reference: Trial) -> dict[str, Any]:
    """Return a trial for the page, with the changes of rank from the reference."""
    return {
        "trial": trial,
        "viewer": {name: getattr(trial.question.search.viewer, name) for name in ID_FIELDS},
        "results": [_serialize_hit(hit) | _compare_rank(hit, reference) for hit in trial.hits],
        "missed": [_serialize_hit(hit) for hit in trial.missed],
        "decisions": [
            {"code": each["code"], "text": DECISION_TEXTS.get(each["code"], each["message"])}
            for each in trial.answer.decisions
        ],
        "command": _format_command(request, trial.question),
    }


def _serialize_hit(one: LabHit | MissedMemory) -> dict[str, Any]:
    hit = one.hit
    percent = round(100 * hit.relevance)
    return {"one": one, "bar": build_bar(hit.parts), "exact": repr(hit.score), "percent": percent}


def _compare_rank(one: LabHit, reference: Trial) -> dict[str, Any]:
    before = reference.rank_of(one.hit.entry.pk)
    if before is None:
        return {"new": True}
    return {"rose": max(0, before - one.rank), "fell": max(0, one.rank - before)}


def _format_command(request: WebRequest, question: LabQuery) -> str:
    """Return the query as a shell command that calls the API."""
    search = question.search
    url_name, limit_field = API_ENDPOINTS[question.endpoint]
    body: dict[str, Any] = {"query": search.query}
    body |= {limit_field: question.max_results} if question.max_results else {}
    body |= {"min_score": question.min_score} if question.min_score is not None else {}
    body |= {"explain": True} if question.endpoint == Endpoint.SEARCH else {}
    body |= {name: value for name in ID_FIELDS if (value := getattr(search.viewer, name))}
    body |= {"kinds": list(search.kinds)} if search.kinds else {}
    body |= {"as_of": search.as_of.isoformat()} if search.as_of else {}
    quoted = json.dumps(body, ensure_ascii=False).replace("'", "'\\''")
    return format_api_command(request, url_name, quoted)


def _load_ratings(request: WebRequest, entries: Iterable[UUID]) -> dict[UUID, str]:
    own_ratings = MemoryRating.objects.of(request.account_id).filter(
        rater=str(request.actor), used_in="", entry__in=list(entries)
    )
    return dict(own_ratings.values_list("entry_id", "outcome"))


@page_view("POST", needs=Permission.REVIEW)
def rate_memory(request: WebRequest, pk: UUID) -> HttpResponse:
    outcome = request.POST.get("outcome", "")
    if outcome not in Outcome.values:
        raise Invalid(gettext("Choose useful, outdated or wrong."))
    entry = get_row_or_404(request, MemoryEntry, pk)
    decision = Decision(account_id=entry.account_id, entry_id=entry.pk, actor=request.actor)
    rated = rate_entry(decision, outcome)
    if request.htmx:
        context = {"entry": entry, "rating": outcome, "outcomes": OFFERED_OUTCOMES}
        return render(request, "memory/lab/index.html#rating", context)
    if rated.changed:
        text = gettext("Rating saved.")
        if rated.entry.status == MemoryEntry.Status.ACTIVE:
            text = gettext("Rating saved. It affects how this memory ranks in search.")
        notify_success(request, text)
    return redirect(safe_next_url(request, "memory:lab"))
