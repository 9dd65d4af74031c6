"""Questions and feedback built from validated requests."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from kmapp.accounts.actors import Actor
from kmapp.api.serializers import MAX_ID_LENGTH
from kmapp.errors import Invalid
from rules.actions.feedback import Verdict
from rules.editing.rule_input import scope_of
from rules.evaluation.evaluate import Question
from rules.evaluation.matching import Viewer


def question_of(data: Mapping[str, Any]) -> Question:
    context = data["context"]
    ids = {
        f"{kind}_id": data.get(f"{kind}_id") or _id_in(context, kind)
        for kind in ("user", "agent", "app")
    }
    return Question(
        context=context,
        viewer=Viewer(**ids, scope=scope_of(data.get("scope"))),
        candidates=tuple(data.get("candidates", ())),
        strict=data.get("strict", True),
    )


def _id_in(context: Mapping[str, Any], kind: str) -> str:
    """Return an id from the context: agent_id, or agent.id."""
    inner = context.get(kind)
    named = context.get(f"{kind}_id") or (inner.get("id") if isinstance(inner, dict) else None)
    return named if isinstance(named, str) and len(named) <= MAX_ID_LENGTH else ""


def decision_id_of(data: Mapping[str, Any]) -> UUID | None:
    """By its id, or by the last part of its address."""
    named: UUID | None = data.get("decision_id")
    uri = data.get("decision_uri")
    if named or not uri:
        return named
    try:
        return UUID(str(uri).rpartition("/")[2])
    except ValueError as error:
        raise Invalid(
            "decision_uri names no decision.",
            issues=[{"path": "decision_uri", "message": "ends with no id"}],
        ) from error


def verdict_of(account_id: UUID, actor: Actor, data: Mapping[str, Any]) -> Verdict:
    return Verdict(
        account_id=account_id,
        actor=actor,
        outcome=data["outcome"],
        note=data.get("note", ""),
        input=data.get("input_text") or data.get("input_sha256") or "",
        run_id=data.get("run_id") or "",
        target=data.get("target", "rule"),
    )
