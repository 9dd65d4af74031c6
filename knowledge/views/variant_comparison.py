"""Side-by-side comparison of two variants on saved queries."""

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kmapp.errors import Invalid
from kmapp.search.variants import DEFAULT_VARIANT, VARIANTS
from kmapp.web.after_commit import AfterCommit
from kmapp.web.forms import Styled
from kmapp.web.http import WebRequest, get_row_or_404, paginate, post_text, safe_next_url
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice
from knowledge.models import KnowledgeQuestion, KnowledgeSource
from knowledge.models.comparison_questions import MAX_QUESTION_LENGTH
from knowledge.retrieval.variant_comparison import compare_variants

TEMPLATE = "knowledge/comparison/index.html"
PAGE_SIZE = 10  # questions; each is searched twice
MAX_QUESTIONS = 200
OTHER = next(name for name in VARIANTS if name != DEFAULT_VARIANT.name)


def _list_variants() -> list[tuple[str, str]]:
    label = _("%(name)s: index %(index)s, ranking %(algorithm)s")
    return [
        (name, label % {"name": name, "index": each.index_version, "algorithm": each.algo_version})
        for name, each in VARIANTS.items()
    ]


class VariantComparisonForm(Styled):
    left = forms.ChoiceField(label=gettext_lazy("From"), choices=_list_variants)
    right = forms.ChoiceField(label=gettext_lazy("To"), choices=_list_variants)


@page_view("GET")
def comparison(request: WebRequest) -> HttpResponse | AfterCommit:
    """Compare two variants. Models are called outside the account's transaction."""
    account_id = request.account_id
    params = {"left": DEFAULT_VARIANT.name, "right": OTHER} | request.GET.dict()
    form = VariantComparisonForm(params)
    rows = KnowledgeQuestion.objects.of(account_id).order_by("-created_at", "-pk")
    page = paginate(request, rows, PAGE_SIZE)
    context: dict[str, Any] = {"form": form, "page": page, "max_length": MAX_QUESTION_LENGTH}
    if not form.is_valid():
        return render(request, TEMPLATE, context, status=400)
    names = form.cleaned_data["left"], form.cleaned_data["right"]
    questions = list(page.object_list)  # evaluated here, inside the account's transaction
    context |= {
        "variants": names,
        "questions": questions,
        "unused": _find_unused_index_versions(account_id, names),
    }
    return AfterCommit(partial(_render_answers, request, context), outside_transaction=True)


def _find_unused_index_versions(account_id: UUID, names: Sequence[str]) -> list[str]:
    """Return the requested index versions that no source has been chunked with."""
    sources = KnowledgeSource.objects.of(account_id).of_documents()
    index_versions = dict.fromkeys(VARIANTS[name].index_version for name in names)
    return [
        each
        for each in index_versions
        if not sources.filter(index_versions__contains=[each]).exists()
    ]


def _render_answers(request: WebRequest, context: dict[str, Any]) -> AfterCommit:
    left, right = (VARIANTS[name] for name in context["variants"])
    account_id = request.account_id
    rows = [
        {
            "question": question,
            "comparison": compare_variants(account_id, question.text, left, right),
        }
        for question in context["questions"]
    ]
    return AfterCommit(lambda: render(request, TEMPLATE, context | {"rows": rows}))


@page_view("POST")
def save_question(request: WebRequest) -> HttpResponse:
    text = post_text(request, "text", MAX_QUESTION_LENGTH)
    if not text:
        raise Invalid(_("Enter a question."))
    rows = KnowledgeQuestion.objects.of(request.account_id)
    if rows.count() >= MAX_QUESTIONS:
        raise Invalid(
            _("The limit of %(most)d questions is reached. Delete a question first.")
            % {"most": MAX_QUESTIONS}
        )
    rows.get_or_create(
        account_id=request.account_id, text=text, defaults={"created_by": str(request.actor)}
    )
    return redirect_with_notice(
        request, _("Question saved."), safe_next_url(request, "/knowledge/comparison/")
    )


@page_view("POST")
def delete_question(request: WebRequest, pk: UUID) -> HttpResponse:
    get_row_or_404(request, KnowledgeQuestion, pk).delete()
    return redirect_with_notice(
        request, _("Question deleted."), safe_next_url(request, "/knowledge/comparison/")
    )
