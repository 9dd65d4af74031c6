"""What agents ask and report, once its fields are checked."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from kmapp.accounts.actors import Actor
from kmapp.errors import Invalid
from rules.actions.feedback import Verdict
from rules.api.request_serializers import ID
from rules.editing.rule_input import scope_of
from rules.evaluation.evaluate import Question
from rules.evaluation.matching import Viewer


def question_of(asked: Mapping[str, Any]) -> Question:
    context = asked["context"]
    ids = {
        f"{kind}_id": asked.get(f"{kind}_id") or _id_in(context, kind)
        for kind in ("user", "agent", "app")
    }
    return Question(
        context=context,
        viewer=Viewer(**ids, scope=scope_of(asked.get("scope"))),
        candidates=tuple(asked.get("candidates", ())),
        strict=asked.get("strict", True),
    )


def _id_in(context: Mapping[str, Any], kind: str) -> str:
    """An id that the context itself names: agent_id, or agent.id."""
    inner = context.get(kind)
    named = context.get(f"{kind}_id") or (inner.get("id") if isinstance(inner, dict) else None)
    return named if isinstance(named, str) and len(named) <= ID else ""


def decision_id_of(asked: Mapping[str, Any]) -> UUID | None:
    """By its id, or by the last part of its address."""
    named: UUID | None = asked.get("decision_id")
    uri = asked.get("decision_uri")
    if named or not uri:
        return named
    try:
        return UUID(str(uri).rpartition("/")[2])
    except ValueError as error:
        raise Invalid(
            "decision_uri names no decision.",
            issues=[{"path": "decision_uri", "message": "ends with no id"}],
        ) from error


def verdict_of(account_id: UUID, actor: Actor, asked: Mapping[str, Any]) -> Verdict:
    return Verdict(
        account_id=account_id,
        actor=actor,
        outcome=asked["outcome"],
        note=asked.get("note", ""),
        input=asked.get("input_text") or asked.get("input_sha256") or "",
        run_id=asked.get("run_id") or "",
        target=asked.get("target", "rule"),
    )
