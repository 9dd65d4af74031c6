"""The rule editor: a form and JSON that are synchronized and validated while typing, and a dry run.

Every request carries the whole state of the page, so it works with and without htmx.
"""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from kmapp.errors import DomainError, Invalid
from kmapp.web.http import WebRequest, get_row_or_404, parse_row_number, uuid_or_404
from kmapp.web.page_access import page_view
from kmapp.web.responses import render_form
from kmapp.web.success_messages import notify_success
from rules.actions.dry_run import dry_run
from rules.actions.rules import build_draft, create_rule, update_rule
from rules.editing.form_json_sync import EMPTY
from rules.editing.rendering import render_rule
from rules.editing.rule_input import NewRule, parse_scope, validate_rule
from rules.models import Rule
from rules.views.editor_state import EditorState, build_editor, parse_editor
from rules.views.forms import RuleForm

TEMPLATE = "rules/editor/index.html"


@page_view("GET", "POST")
def new_rule(request: WebRequest) -> HttpResponse:
    return _handle_form(request, None)


@page_view("GET", "POST")
def edit_rule(request: WebRequest, pk: UUID) -> HttpResponse:
    """Edit a rule; a rule that was in shadow or active gets a new draft edition."""
    return _handle_form(request, get_row_or_404(request, Rule, pk))


@page_view("POST")
def validate_editor(request: WebRequest) -> HttpResponse:
    """Validate the form or JSON and synchronize the other side."""
    rule_id = request.POST.get("rule", "")
    rule = get_row_or_404(request, Rule, uuid_or_404(rule_id)) if rule_id else None
    editor, form = parse_editor(request.POST), RuleForm(request.POST)
    return render(request, f"{TEMPLATE}#checked", _build_context(request, rule, editor, form))


def _handle_form(request: WebRequest, rule: Rule | None) -> HttpResponse:
    if request.method != "POST":
        definition = build_draft(rule).parts() if rule else EMPTY
        return _render_page(
            request, rule, build_editor(definition), RuleForm(initial=RuleForm.build_initial(rule))
        )
    editor, form = parse_editor(request.POST), RuleForm(request.POST)
    is_valid = form.is_valid() and not editor.issues
    if request.POST.get("step") or not is_valid:  # no save requested, or invalid
        return _render_page(request, rule, editor, form, invalid=not request.POST.get("step"))
    try:
        with transaction.atomic():
            saved = _save_rule(request, rule, editor, form)
    except DomainError as error:
        editor = replace(editor, issues=error.issues)
        if rule and error.code == "stale_version":
            rule = get_row_or_404(request, Rule, rule.pk)  # as the other person saved it
            form.add_conflict("version", rule.version)
        else:
            form.add_error(None, error.message)
        return _render_page(request, rule, editor, form, invalid=True)
    return _redirect_saved(request, rule, saved)


def _save_rule(request: WebRequest, rule: Rule | None, editor: EditorState, form: RuleForm) -> Rule:
    account_id, actor, reason = request.account_id, request.actor, form.cleaned_data["reason"]
    values = {**form.values(), **editor.columns()}
    if rule is None:
        draft = NewRule(**values, scope=parse_scope(form.cleaned_data["scope"]))
        validate_rule(draft)
        return create_rule(account_id, actor, draft, reason=reason).rules[0]
    version = parse_row_number(request.POST.get("version", "")) or 0
    return update_rule(account_id, actor, rule.pk, values, version=version, reason=reason)


def _redirect_saved(request: WebRequest, previous: Rule | None, saved: Rule) -> HttpResponse:
    if previous is None:
        notify_success(request, _("Draft saved. Run a backtest, then move the rule to shadow."))
    elif saved.pk != previous.pk:
        message = _(
            "Edition %(n)d is saved as a draft. Edition %(old)d stays unchanged until you "
            "promote the draft."
        )
        notify_success(request, message % {"n": saved.edition, "old": previous.edition})
    else:
        notify_success(request, _("Changed."))
    return redirect("rules:rule", pk=saved.pk)


def _render_page(
    request: WebRequest,
    rule: Rule | None,
    editor: EditorState,
    form: RuleForm,
    *,
    invalid: bool = False,
) -> HttpResponse:
    context = _build_context(request, rule, editor, form)
    return render_form(request, TEMPLATE, context, invalid=invalid)


def _build_context(
    request: WebRequest, rule: Rule | None, editor: EditorState, form: RuleForm
) -> dict[str, Any]:
    draft = _build_page_draft(rule, editor, form)
    context: dict[str, Any] = {"rule": rule, "editor": editor, "form": form, **render_rule(draft)}
    if editor.context is not None and not editor.issues:
        lineage = rule.lineage if rule else None
        try:
            context["dry_run"] = dry_run(
                request.account_id, draft, editor.context, editor.candidates, lineage
            )
        except Invalid as error:
            context["editor"] = replace(editor, context_issue=error.message)
    return context


def _build_page_draft(rule: Rule | None, editor: EditorState, form: RuleForm) -> NewRule:
    """Return the draft of the page; invalid fields count as empty."""
    draft = build_draft(rule) if rule else NewRule(name="")
    values: dict[str, Any] = {}
    if form.is_bound and form.is_valid():
        values = form.values()
        if rule is None:
            values["scope"] = parse_scope(form.cleaned_data["scope"])
    return replace(draft, **values, **editor.columns())
