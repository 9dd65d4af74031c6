"""The rule editor: form and JSON in step, validated while typing, with a test.

Every request carries the whole state of the page, so it works with and without htmx.
"""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from kmapp.errors import DomainError
from kmapp.web.http import WebRequest, get_row_or_404, parse_row_number, uuid_or_404
from kmapp.web.notices import notify_success
from kmapp.web.page_access import page_view
from kmapp.web.responses import render_form
from rules.actions.dry_run import dry_run
from rules.actions.rules import create, draft_of, edit
from rules.editing.form_json_sync import EMPTY
from rules.editing.rendering import condition_lines, effects
from rules.editing.rule_input import NewRule, refuse, scope_of
from rules.models import Rule
from rules.views.editor_state import EditorState, opened, parse_editor
from rules.views.forms import RuleForm

TEMPLATE = "rules/editor/index.html"


@page_view("GET", "POST")
def new(request: WebRequest) -> HttpResponse:
    return _edit(request, None)


@page_view("GET", "POST")
def edit_rule(request: WebRequest, pk: UUID) -> HttpResponse:
    """Edit a rule; a rule that was in shadow or active gets a new draft edition."""
    return _edit(request, get_row_or_404(request, Rule, pk))


@page_view("POST")
def check(request: WebRequest) -> HttpResponse:
    """Validate the form or JSON and synchronize the other side."""
    rule = _find_rule(request)
    editor, form = parse_editor(request.POST), RuleForm(request.POST)
    return render(request, f"{TEMPLATE}#checked", _context(request, rule, editor, form))


def _find_rule(request: WebRequest) -> Rule | None:
    definition = request.POST.get("rule", "")
    return get_row_or_404(request, Rule, uuid_or_404(definition)) if definition else None


def _edit(request: WebRequest, rule: Rule | None) -> HttpResponse:
    if request.method != "POST":
        definition = _definition_of(rule) if rule else EMPTY
        return _page(request, rule, opened(definition), RuleForm(initial=RuleForm.seen(rule)))
    editor, form = parse_editor(request.POST), RuleForm(request.POST)
    is_right = form.is_valid() and not editor.issues
    if request.POST.get("step") or not is_right:  # a step on the page, or back to it
        return _page(request, rule, editor, form, refused=not request.POST.get("step"))
    try:
        with transaction.atomic():
            saved = _save(request, rule, editor, form)
    except DomainError as error:
        editor = replace(editor, issues=error.issues)
        form.add_error(None, error.message)
        return _page(request, rule, editor, form, refused=True)
    return _saved(request, rule, saved)


def _save(request: WebRequest, rule: Rule | None, editor: EditorState, form: RuleForm) -> Rule:
    account_id, actor, reason = request.account_id, request.actor, form.why()
    values = {**form.values(), **editor.columns()}
    if rule is None:
        draft = NewRule(**values, scope=scope_of(form.cleaned_data["scope"]))
        refuse(draft.issues())
        return create(account_id, actor, draft, reason=reason).rules[0]
    version = parse_row_number(request.POST.get("version", "")) or 0
    return edit(account_id, actor, rule.pk, values, version=version, reason=reason)


def _saved(request: WebRequest, before: Rule | None, saved: Rule) -> HttpResponse:
    if before is None:
        notify_success(request, _("Draft saved. Run a backtest, then move the rule to shadow."))
    elif saved.pk != before.pk:
        definition = _(
            "Edition %(n)d is saved as a draft. Edition %(old)d stays unchanged until you "
            "promote the draft."
        )
        notify_success(request, definition % {"n": saved.edition, "old": before.edition})
    else:
        notify_success(request, _("Changed."))
    return redirect("rules:rule", pk=saved.pk)


def _definition_of(rule: Rule) -> dict[str, Any]:
    return {"if": rule.when, "then": rule.then, "exceptions": rule.exceptions}


def _page(
    request: WebRequest,
    rule: Rule | None,
    editor: EditorState,
    form: RuleForm,
    *,
    refused: bool = False,
) -> HttpResponse:
    context = _context(request, rule, editor, form)
    return render_form(request, TEMPLATE, context, invalid=refused)


def _context(
    request: WebRequest, rule: Rule | None, editor: EditorState, form: RuleForm
) -> dict[str, Any]:
    draft = _draft(rule, editor, form)
    context: dict[str, Any] = {
        "rule": rule,
        "editor": editor,
        "form": form,
        "lines": condition_lines(draft.when),
        "exceptions": [condition_lines(one) for one in draft.exceptions],
        "effects": effects(draft.then),
    }
    if editor.context is not None and not editor.issues:
        lineage = rule.lineage if rule else None
        result = dry_run(request.account_id, draft, editor.context, editor.candidates, lineage)
        context["dry_run"] = result
    return context


def _draft(rule: Rule | None, editor: EditorState, form: RuleForm) -> NewRule:
    """Return the draft of the page; invalid fields count as empty."""
    draft = draft_of(rule) if rule else NewRule(name="")
    values = form.values() if form.is_bound and form.is_valid() else {}
    return replace(draft, **values, **editor.columns())
