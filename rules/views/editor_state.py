"""State of the rule editor: form, JSON, and which was changed last."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kmapp.api.strict_json import RefusedJSON, parse
from kmapp.ledger.canonical import Unstorable, check_storable
from kmapp.web.invalid_json_messages import json_issue
from rules.editing.form_json_sync import (
    EMPTY,
    FORMATS,
    OPERATORS,
    Form,
    InvalidRow,
    Json,
    Row,
    build_form,
    build_rule,
    is_same_json,
)
from rules.editing.rendering import OPERATOR_LABELS, format_json
from rules.editing.rule_input import MESSAGES, Issue, list_issues

MAX_LENGTH = 100_000  # characters of one field
ROW_MESSAGES = {
    "no_path": gettext_lazy("A condition has a value but no path. Enter its path in the context."),
    "repeat": gettext_lazy("Two conditions use the same path. Combine them, or edit the JSON."),
}
EDITOR_LABELS = {
    "is": gettext_lazy("is"),
    "all": gettext_lazy("contains all of"),
    "$exists": gettext_lazy("exists"),
    **OPERATOR_LABELS,
}
TOOLS = (
    ("deny", gettext_lazy("Denied tools"), gettext_lazy("Agents cannot use these tools.")),
    ("allow", gettext_lazy("Allowed tools"), gettext_lazy("Agents can use only these tools.")),
    (
        "prefer",
        gettext_lazy("Preferred tools"),
        gettext_lazy("These tools come first, in this order."),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorState:
    """The state of the page; `agreed` is the last state in which form and JSON were equal."""

    agreed: Json
    form: Form
    json: str
    changed_side: str = ""  # "form" or "json", if one was changed since then
    issues: Sequence[Mapping[str, str]] = ()
    blank: int = 1  # empty lines below the condition
    context: Any = None
    context_text: str = ""
    context_issue: str = ""
    candidates: Sequence[str] = ()

    @property
    def agreed_text(self) -> str:
        return _format_compact(self.agreed)

    @property
    def candidates_text(self) -> str:
        return ", ".join(self.candidates)

    def columns(self) -> dict[str, Any]:
        """Return the rule's columns; invalid parts count as empty."""
        when, then, unless = (self.agreed.get(name) for name in ("if", "then", "exceptions"))
        return {
            "when": when if isinstance(when, dict) else {},
            "then": then if isinstance(then, dict) else {},
            "exceptions": [one for one in unless if isinstance(one, dict)]
            if isinstance(unless, list)
            else [],
        }

    @property
    def messages(self) -> dict[str, list[str]]:
        """Return the messages by the part of the page that displays them."""
        values: dict[str, list[str]] = {"if": [], "then": [], "exceptions": [], "json": []}
        for issue in self.issues:
            part, _dot, inside = issue["path"].partition(".")
            text = f"{inside}: {issue['message']}" if inside else issue["message"]
            values.setdefault(part, []).append(text)
        return values

    @property
    def conditions(self) -> list[dict[str, Any]]:
        """Return the two lists of rows; None instead of rows if only the JSON can express them."""
        return [
            {
                "name": "if",
                "label": _("If all of these match"),
                "rows": self._pad_rows(self.form.when),
            },
            {
                "name": "unless",
                "label": _("Unless all of these match"),
                "rows": self._pad_rows(self.form.unless),
            },
        ]

    def _pad_rows(self, rows: tuple[Row, ...] | None) -> list[Row] | None:
        return None if rows is None else [*rows, *[Row("", "is", "")] * self.blank]

    @property
    def operators(self) -> list[tuple[str, Any]]:
        return [(name, EDITOR_LABELS[name]) for name in OPERATORS]

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        data = self.form.tools
        if data is None:
            return None
        return [
            {"name": name, "label": label, "help": text, "value": data.get(name, "")}
            for name, label, text in TOOLS
        ]

    @property
    def formats(self) -> list[tuple[str, str]]:
        return [("", _("not set")), *((one, one) for one in FORMATS)]


def build_editor(rule: Mapping[str, Any]) -> EditorState:
    """Return the editor in its initial state."""
    agreed = {**EMPTY, **rule}
    return EditorState(agreed=agreed, form=build_form(agreed), json=_format_text(agreed))


def _format_text(rule: Json) -> str:
    """Return the JSON text of a rule: on one line if its indentation would exceed MAX_LENGTH."""
    text = format_json(rule)
    return text if len(text) <= MAX_LENGTH else _format_compact(rule)


def _format_compact(rule: Json) -> str:
    return json.dumps(rule, ensure_ascii=False, separators=(",", ":"))


def parse_editor(data: QueryDict) -> EditorState:
    """Parse the editor; the changed side updates the other one."""
    agreed = _parse_agreed(data.get("agreed", ""))
    form, text = _parse_form(data), data.get("json", "").replace("\r\n", "\n")
    step = data.get("step", "")
    form_rule, form_issue = _parse_form_rule(agreed, form)
    json_rule, text_issue = _parse_json_rule(text)
    form_changed = form_issue is not None or not is_same_json(form_rule, agreed)
    json_changed = text_issue is not None or not is_same_json(json_rule, agreed)
    differ = form_issue or text_issue or not is_same_json(form_rule, json_rule)
    editor = EditorState(agreed=agreed, form=form, json=text, **_parse_test_context(data))
    if form_changed and json_changed and differ and step not in ("form", "json"):
        message = _("The form and the JSON were both changed. Choose below which one to use.")
        return replace(editor, issues=[{"path": "json", "message": message}])
    if (form_changed and step != "json") or step == "form":
        if form_issue:
            return replace(editor, changed_side="form", issues=[form_issue])
        editor = replace(
            editor, changed_side="form", agreed=form_rule, json=_format_text(form_rule)
        )
    elif json_changed or step == "json":
        if text_issue:
            return replace(editor, changed_side="json", issues=[text_issue])
        editor = replace(editor, changed_side="json", agreed=json_rule, form=build_form(json_rule))
    blank = 3 if step == "more" else 1
    return replace(editor, issues=list_issues(editor.agreed), blank=blank)


def _parse_agreed(text: str) -> Json:
    try:
        return {**EMPTY, **parse(text.encode())}  # not cut, or parts of the rule would be lost
    except RefusedJSON:
        return dict(EMPTY)


def _parse_form_rule(agreed: Json, form: Form) -> tuple[Json, Issue | None]:
    try:
        data = build_rule(agreed, form)
        check_storable(data)
    except InvalidRow as error:
        return agreed, {"path": error.part, "message": str(ROW_MESSAGES[error.reason])}
    except Unstorable:
        text = _("A field contains a character or a number that cannot be stored. Remove it.")
        return agreed, {"path": "json", "message": text}
    return data, None


def _parse_json_rule(text: str) -> tuple[Json, Issue | None]:
    if len(text) > MAX_LENGTH:
        message = str(MESSAGES["large"]) % {"n": len(text), "most": MAX_LENGTH}
        return dict(EMPTY), {"path": "json", "message": message}
    try:
        data = parse(text.encode())
    except RefusedJSON as error:
        return dict(EMPTY), {"path": "json", "message": json_issue(error)}
    if unknown := sorted(data.keys() - EMPTY.keys()):
        unknown_names_message = _("Unknown keys: %(names)s. Use only if, then and exceptions.")
        return dict(EMPTY), {
            "path": "json",
            "message": unknown_names_message % {"names": ", ".join(unknown)},
        }
    return {**EMPTY, **data}, None


def _parse_form(data: QueryDict) -> Form:
    """Parse the displayed parts of the form; other parts keep their values."""
    displayed_parts = set(data.getlist("shown"))
    tools = {name: data.get(name, "")[:MAX_LENGTH] for name, _label, _help in TOOLS}
    return Form(
        when=_parse_rows(data, "if") if "if" in displayed_parts else None,
        unless=_parse_rows(data, "unless") if "unless" in displayed_parts else None,
        tools=tools if "tools" in displayed_parts else None,
        format=data.get("format", "") if "format" in displayed_parts else None,
    )


def _parse_rows(data: QueryDict, name: str) -> tuple[Row, ...]:
    columns = (data.getlist(f"{name}_{part}") for part in ("path", "op", "value"))
    rows = zip(*columns, strict=False)
    return tuple(
        Row(path.strip(), operator, value.strip()[:MAX_LENGTH])
        for path, operator, value in rows
        if (path.strip() or value.strip()) and operator in OPERATORS
    )


def _parse_test_context(data: QueryDict) -> dict[str, Any]:
    """Return the test context and the available tools."""
    text = data.get("context", "")[:MAX_LENGTH]
    names = data.get("candidates", "").replace("，", ",").split(",")
    values: dict[str, Any] = {
        "context_text": text,
        "candidates": [name for one in names if (name := one.strip())][:200],
    }
    if text.strip():
        try:
            values["context"] = parse(text.encode())
        except RefusedJSON as error:
            values["context_issue"] = json_issue(error)
    return values
