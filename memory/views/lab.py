"""The recall lab: a query as an agent would send it, with all parts of the answer."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from kmapp.web.responses import format_api_command
from memory.retrieval.lab import Endpoint, LabHit, Missed, Question, Trial, try_out
from memory.retrieval.score_breakdown import bar, legend
from memory.views.lab_forms import IDS, QuestionForm, SettingForm
from memory.views.ratings import OFFERED, ratings_of

TEMPLATE = "memory/lab/index.html"
ADDRESS = {
    Endpoint.SEARCH: "memory:api_search",
    Endpoint.RECALL: "memory:api_recall_text",
    Endpoint.INJECT: "memory:api_inject",
}
MOST_AS = {Endpoint.SEARCH: "limit", Endpoint.RECALL: "limit", Endpoint.INJECT: "max_memories"}
SECOND = "b"  # before the names of the other way of asking
DECISIONS = {
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
    has_query = bool(request.GET.get("query"))
    question = QuestionForm(request.GET) if has_query else QuestionForm()
    compare = bool(request.GET.get("compare"))
    setting_forms = [
        SettingForm(request.GET) if has_query else SettingForm(initial=_first(request))
    ]
    if compare:
        setting_forms.append(SettingForm(_second(request), prefix=SECOND))
    context: dict[str, Any] = {"question": question, "ways": setting_forms, "compare": compare}
    if not has_query:
        return render(request, TEMPLATE, context)
    if not all(form.is_valid() for form in (question, *setting_forms)):
        return render(request, TEMPLATE, context, status=400)
    questions = [
        setting_form.question(question.cleaned_data["query"]) for setting_form in setting_forms
    ]
    return AfterCommit(partial(_tried, request, context, questions), outside_transaction=True)


def _first(request: WebRequest) -> dict[str, str]:
    """Return the initial values; a link may contain ids."""
    return {name: request.GET[name] for name in IDS if request.GET.get(name)}


def _second(request: WebRequest) -> dict[str, str]:
    """Return the second settings, initially equal to the first."""
    params = {name: str(value) for name, value in request.GET.items()}
    second_params = {name: value for name, value in params.items() if name.startswith(f"{SECOND}-")}
    return second_params or {f"{SECOND}-{name}": value for name, value in params.items()}


def _tried(
    request: WebRequest, context: dict[str, Any], questions: Sequence[Question]
) -> AfterCommit:
    trials = [try_out(request.account_id, question) for question in questions]
    trial_context = [_trial_context(request, trial, reference=trials[0]) for trial in trials]
    bars = [row["bar"] for one in trial_context for row in (*one["told"], *one["missed"])]
    more = {"trials": trial_context, "legend": legend(bars), "outcomes": OFFERED}
    return AfterCommit(lambda: _page(request, context | more))


def _page(request: WebRequest, context: dict[str, Any]) -> HttpResponse:
    """Render the page with this person's earlier ratings."""
    rows = [row for trial_context in context["trials"] for row in trial_context["told"]]
    params = ratings_of(request, (row["one"].hit.entry.pk for row in rows))
    for row in rows:
        row["said"] = params.get(row["one"].hit.entry.pk, "")
    return render(request, TEMPLATE, context)


def _trial_context(request: WebRequest, trial: Trial, *, reference: Trial) -> dict[str, Any]:
    """Return a trial for the page; ranks are compared with the first trial."""
    return {
        "trial": trial,
        "told": [_row(one) | _moved(one, reference) for one in trial.hits],
        "missed": [_row(one) for one in trial.missed],
        "decisions": [
            {"code": each["code"], "text": DECISIONS.get(each["code"], each["message"])}
            for each in trial.answer.decisions
        ],
        "command": _command(request, trial.question),
    }


def _row(one: LabHit | Missed) -> dict[str, Any]:
    return {"one": one, "bar": bar(one.hit.parts), "exact": repr(one.hit.score)}


def _moved(one: LabHit, reference: Trial) -> dict[str, Any]:
    """Return the change of rank from the first trial."""
    before = reference.rank_of(one.hit.entry.pk)
    if before is None:
        return {"new": True}
    return {"rose": max(0, before - one.rank), "fell": max(0, one.rank - before)}


def _command(request: WebRequest, question: Question) -> str:
    """Return the query as an API command, safely quoted."""
    has_query = question.search
    body: dict[str, Any] = {"query": has_query.query}
    body |= {MOST_AS[question.endpoint]: question.most} if question.most else {}
    body |= {"min_score": question.least} if question.least else {}
    body |= {"explain": True} if question.endpoint == Endpoint.SEARCH else {}
    body |= {name: value for name in IDS if (value := getattr(has_query.viewer, name))}
    body |= {"kinds": list(has_query.kinds)} if has_query.kinds else {}
    body |= {"as_of": has_query.as_of.isoformat()} if has_query.as_of else {}
    params = json.dumps(body, ensure_ascii=False).replace("'", "'\\''")
    return format_api_command(request, ADDRESS[question.endpoint], params)
