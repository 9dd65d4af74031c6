"""Judgements on pages: the two buttons beside a result, import, and exports."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kmapp.accounts.permissions import Permission
from kmapp.errors import Invalid
from kmapp.ledger.canonical import Unstorable, check_storable
from kmapp.security.virus_scan import refuse_infected
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import WebRequest, post_text, safe_next_url, uuid_or_404
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice
from memory.actions.entry_locks import lock_entries
from memory.actions.judgements import (
    LABELS,
    MAX_JUDGEMENTS,
    MAX_QUESTION_LENGTH,
    RELEVANT,
    NewJudgement,
    store_judgements,
)
from memory.actions.record_export import record_export
from memory.models import Judgement, MemoryExport, Viewer
from memory.models.entries import OWNER_IDS
from memory.retrieval.learning.question_file import build_question_file

BUTTONS = "components/judgement.html"
MAX_FILE_BYTES = 5 * 2**20  # of an imported file
NAMES = (*OWNER_IDS, "scope")
Label, Source = Judgement.Label, Judgement.Source


@page_view("POST", needs=Permission.REVIEW)
def judge_result(request: WebRequest) -> HttpResponse:
    """Judge whether a memory is relevant to a question."""
    question = post_text(request, "question", MAX_QUESTION_LENGTH)
    label = request.POST.get("label", "")
    if not question or label not in Label.values:
        raise Invalid(_("Choose relevant or not relevant."))
    ids = {name: post_text(request, name, 200) for name in NAMES}
    entry_id = uuid_or_404(request.POST.get("entry", ""))
    new = NewJudgement(question=question, entry_id=entry_id, label=label, viewer=_viewer(ids))
    store_judgements(request.account_id, request.actor, [new], Source.PERSON)
    if request.htmx:
        context = {"question": question, "viewer": ids, "entry_id": entry_id, "label": label}
        return render(request, BUTTONS, context)
    text = _("Judgement saved. Learned rankings use it.")
    return redirect_with_notice(request, text, safe_next_url(request, "memory:ranking"))


def _viewer(ids: Mapping[str, Any]) -> Viewer:
    named = {name: str(ids.get(name) or "")[:200] for name in NAMES}
    scope = named.pop("scope") or None
    return Viewer(**named, scope=scope)


@page_view("POST", needs=Permission.EDIT)
def export_judgements(request: WebRequest) -> HttpResponse:
    """Return all judgements as JSON lines, which `import_judgements` reads."""
    rows = list(Judgement.objects.of(request.account_id).order_by("pk"))
    answer = HttpResponse(_lines(rows), content_type="application/x-ndjson")
    return _record_export(request, answer, "judgements", len(rows), "judgements.jsonl")


@page_view("POST", needs=Permission.EDIT)
def export_questions(request: WebRequest) -> HttpResponse:
    """Return the labelled questions with the memories of their viewers."""
    content, number = build_question_file(request.account_id)
    answer = HttpResponse(content, content_type="application/gzip")
    return _record_export(request, answer, "questions", number, "questions.json.gz")


def _record_export(
    request: WebRequest, answer: HttpResponse, query: str, number: int, file_name: str
) -> HttpResponse:
    form = MemoryExport.Form.NDJSON
    record_export(request.account_id, request.actor, form=form, query=query, number=number)
    answer.headers["Content-Disposition"] = f'attachment; filename="{file_name}"'
    return answer


def _lines(rows: Iterable[Judgement]) -> Iterator[str]:
    for row in rows:
        owner = {name: value for name in NAMES if (value := getattr(row, name))}
        judged = {"memory_id": str(row.entry_id), "relevant": RELEVANT[row.label]}
        line = {"question": row.question, **owner, **judged, "source": row.source}
        yield json.dumps(line, ensure_ascii=False) + "\n"


@page_view("POST", needs=Permission.EDIT)
def import_judgements(request: WebRequest) -> AfterCommit:
    """Read judgements from a file of JSON lines, all or none."""
    file = request.FILES.get("file")
    if file is None or (file.size or 0) > MAX_FILE_BYTES:
        raise Invalid(_("Choose a file of JSON lines of at most 5 MB."))
    return AfterCommit(partial(_scan_file, request, file), outside_transaction=True)


def _scan_file(request: WebRequest, file: "UploadedFile[Any]") -> AfterCommit:
    data, name = file.read(), file.name or "file"
    refuse_infected([data], name=name, sha256=hashlib.sha256(data).hexdigest(), path="file")
    return AfterCommit(partial(_import_lines, request, data))


def _import_lines(request: WebRequest, data: bytes) -> HttpResponse:
    lines = {n: _read_line(n, line) for n, line in enumerate(data.splitlines(), 1) if line.strip()}
    # Lock all memories before the first commit, which locks the chain until the transaction ends.
    existing = lock_entries(request.account_id, {each.entry_id for each in lines.values()})
    for number, each in lines.items():
        if each.entry_id not in existing:
            text = _(
                "Line %(number)d names a memory that does not exist. It may have been erased. "
                "Remove the line and try again."
            )
            raise Invalid(text % {"number": number})
    new, changed = [*lines.values()], 0
    for first in range(0, len(new), MAX_JUDGEMENTS):
        part = new[first : first + MAX_JUDGEMENTS]
        changed += len(store_judgements(request.account_id, request.actor, part, Source.IMPORT))
    text = ngettext("%(n)d judgement imported.", "%(n)d judgements imported.", changed)
    return redirect_with_notice(request, text % {"n": changed}, "memory:ranking")


def _read_line(number: int, line: bytes) -> NewJudgement:
    refused = Invalid(
        _("Line %(number)d needs a question, a memory_id, and relevant: true, false or null.")
        % {"number": number}
    )
    try:
        value = json.loads(line)
        check_storable(value)
        question, label = str(value["question"]).strip(), LABELS[value["relevant"]]
        entry_id, viewer = UUID(value["memory_id"]), _viewer(value)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, Unstorable) as error:
        raise refused from error
    if not 0 < len(question) <= MAX_QUESTION_LENGTH:
        raise refused
    return NewJudgement(question=question, entry_id=entry_id, label=label, viewer=viewer)
