"""The only bridge to memory, knowledge and rules: what they have for one call, or why nothing.

The question's vector is asked for once, outside of any transaction. Then each source answers in a
transaction of its own, within what is left of the time. A source that fails or is slow is left
out, and a decision says so: a call never fails for want of retrieval.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol
from uuid import UUID

import structlog
from django.db import DatabaseError, OperationalError, connection

from context.assembly.calls import Bound, Snippet
from context.assembly.citations import of_document, of_lore, of_memory, rule_citation
from context.assembly.messages import Message, words_of
from context.assembly.remotes import ask_remote
from context.assembly.retrieval_requests import Wanted
from context.assembly.token_counts import compact
from kmapp.accounts.acting import acting
from kmapp.providers.breaker import breaker_for
from kmapp.providers.errors import ProviderError, ProviderTimeout
from kmapp.search.queries import Meaning
from kmapp.search.query_vector import meaning_of
from knowledge.lore.evaluate import entries_of, fire
from knowledge.lore.triggers import Rules
from knowledge.retrieval import search as documents
from memory.actions.messages import MessageContext, enqueue_conversation
from memory.extraction.conversation import Message as Said
from memory.models import MemorySettings, Viewer
from memory.retrieval.access_counters import accessed
from memory.retrieval.prompt_block import OFF, both_halves
from memory.retrieval.search import Search as MemorySearch
from rules.actions.decisions import evaluate_rules
from rules.editing.rule_input import scope_of
from rules.evaluation.evaluate import Question
from rules.evaluation.matching import Viewer as RulesViewer
from rules.evaluation.tool_selection import select

log = structlog.get_logger()

AFAR = 0.5  # of the time that is left, for another kmapp: ours needs the rest if it fails
LEAST_MS = 20  # with less time left than this, a source is not asked
CANCELLED = "57014"  # what Postgres says when a statement took too long
QUESTION = 2_000  # characters that are searched for
LORE_TOKENS = 1_000
CACHED = "km_query_vector_cached"  # nothing gave way for it: the report says it apart


@dataclass(slots=True)
class Retrieved:
    """What was found, and what was decided on the way."""

    snippets: list[Snippet] = field(default_factory=list)
    bound: Bound = field(default_factory=Bound)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)  # milliseconds
    cached: bool = False  # the question's vector was known


class Source(Protocol):
    """One place to look: adds what it finds."""

    def __call__(self, wanted: Wanted, meaning: Meaning | None, found: Retrieved, /) -> None: ...


def retrieve(wanted: Wanted) -> Retrieved:
    """Ask every source that is wanted. Opens `acting` itself."""
    found, started = Retrieved(), monotonic()
    meaning = None
    if wanted.query and {"memory", "knowledge"} & set(wanted.sources):
        decisions: list[Mapping[str, Any]] = []
        meaning = meaning_of(wanted.account_id, wanted.query, decisions)
        found.cached = CACHED in {each["code"] for each in decisions}
        found.decisions += [
            {"action": each["code"], **each} for each in decisions if each["code"] != CACHED
        ]
        found.timings["meaning"] = _since(started)
    for name in wanted.sources:
        began = monotonic()
        if not _answered_afar(name, wanted, found, left=wanted.deadline_ms - _since(started)):
            _ask(name, wanted, meaning, found, left=wanted.deadline_ms - _since(started))
        found.timings[name] = _since(began)
    return found


def _since(moment: float) -> float:
    return round((monotonic() - moment) * 1000, 2)


def _answered_afar(name: str, wanted: Wanted, found: Retrieved, *, left: float) -> bool:
    """Whether another kmapp answers for this source. If it fails, ours has the rest of the time."""
    remote = wanted.remote
    if not remote or name not in remote.sources or not wanted.query or left < 2 * LEAST_MS:
        return False
    if name == "memory" and not _memory_is_on(wanted.account_id):
        return False  # ours says so
    said = {"source": name, "remote": remote.base_url}
    try:
        snippets = ask_remote(remote, name, wanted, AFAR * left / 1000)
    except ProviderError as error:
        why = {"code": error.code, "message": error.message}
        found.decisions.append({"action": "km_fallback_local", **said, **why})
        return False
    found.snippets += snippets
    found.decisions.append({"action": "km_remote", **said, "found": len(snippets)})
    return True


def _memory_is_on(account_id: UUID) -> bool:
    with acting(account_id):
        return MemorySettings.objects.get_or_default(account_id).memory_enabled


def _ask(
    name: str, wanted: Wanted, meaning: Meaning | None, found: Retrieved, *, left: float
) -> None:
    """One source, through its breaker."""
    if left < LEAST_MS:
        found.decisions.append({"action": "km_timeout", "source": name, "left_ms": round(left)})
        return
    part = Retrieved()
    try:
        with breaker_for(f"retrieval://{name}").guard(), _hurried(wanted.account_id, left):
            SOURCES[name](wanted, meaning, part)
    except ProviderError as error:
        found.decisions.append({"action": error.code, "source": name, "message": error.message})
        return
    except Exception:  # whatever ails a source, the call goes on without it
        log.exception("retrieval_failed", source=name)
        found.decisions.append({"action": "retrieval_failed", "source": name})
        return
    found.snippets += part.snippets
    found.decisions += part.decisions
    found.bound = part.bound if part.bound.text or part.bound.barred else found.bound


@contextmanager
def _hurried(account_id: UUID, left: float) -> Iterator[None]:
    """A transaction whose statements have no more time than this, in milliseconds.

    What the database says of time and of itself becomes what the breaker counts.
    """
    try:
        with acting(account_id), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{left:.0f}"])
            yield
            cursor.execute("SET LOCAL statement_timeout TO DEFAULT")
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") == CANCELLED:
            raise ProviderTimeout(f"No answer within {left:.0f} ms.") from error
        raise ProviderError("The database did not answer.") from error
    except DatabaseError as error:
        raise ProviderError("The database refused the question.") from error


# --- Memory ---------------------------------------------------------------------------------------


def from_memory(wanted: Wanted, meaning: Meaning | None, found: Retrieved) -> None:
    policy = MemorySettings.objects.get_or_default(wanted.account_id)
    if not policy.memory_enabled:
        found.decisions.append({"action": OFF["code"], "source": "memory"})
        return
    if not wanted.query:
        return
    asked = MemorySearch(
        query=wanted.query,
        viewer=Viewer(
            user_id=wanted.user_id,
            agent_id=wanted.agent_id,
            app_id=wanted.app_id,
            run_id=wanted.run_id,
            scope=wanted.scope or None,
        ),
        limit=wanted.limit,
        min_score=max(wanted.min_score, policy.min_score),
        variant=wanted.variant,
    )
    hits = both_halves(wanted.account_id, asked, meaning)
    if wanted.counted:
        accessed(wanted.account_id, [hit.entry.pk for hit in hits])
    found.snippets += [of_memory(hit, wanted.variant) for hit in hits]


# --- Knowledge and lore ---------------------------------------------------------------------------


def from_knowledge(wanted: Wanted, meaning: Meaning | None, found: Retrieved) -> None:
    if not wanted.query:
        return
    asked = documents.Search(
        query=wanted.query,
        limit=wanted.limit,
        sources=wanted.knowledge_sources,
        min_score=wanted.min_score,
        variant=wanted.variant,
    )
    snippets = documents.answers(wanted.account_id, asked, meaning)
    found.snippets += [of_document(each, wanted.variant) for each in snippets]


def from_lore(wanted: Wanted, _meaning: Meaning | None, found: Retrieved) -> None:
    rows = entries_of(wanted.account_id, wanted.lorebooks)
    if not rows:
        return
    outcome = fire(rows, wanted.said, Rules(budget=LORE_TOKENS, scope=wanted.scope))
    by_id = {str(row.pk): row for row in rows}
    found.snippets += [
        of_lore(by_id[each.entry.id], each, wanted.variant) for each in outcome.included
    ]


# --- Rules ----------------------------------------------------------------------------------------


def from_rules(wanted: Wanted, _meaning: Meaning | None, found: Retrieved) -> None:
    """What the rules that hold say, as a text; and the tools that they leave out."""
    ids = {name: getattr(wanted, name) for name in ("user_id", "agent_id", "app_id")}
    context = {**{name: said for name, said in ids.items() if said}, **wanted.rules_context}
    viewer = RulesViewer(**ids, scope=scope_of(wanted.scope))
    answer = evaluate_rules(
        wanted.account_id,
        Question(context=context, viewer=viewer, candidates=wanted.tools, strict=False),
    )
    chosen = select(answer.policy, wanted.tools, strict=False)
    values = dict(answer.policy.values)
    if chosen.preferred:
        values["tool.prefer"] = list(chosen.preferred)
    found.bound = Bound(
        text="\n".join(f"- {name}: {compact(value)}" for name, value in sorted(values.items())),
        barred=tuple(name for name, _why in chosen.denied),
        citations=[
            rule_citation(wanted.account_id, one.rule, wanted.variant)
            for one in answer.matched.live
        ],
    )


# --- What goes the other way ----------------------------------------------------------------------


def remember(told: MessageContext, messages: Sequence[Message]) -> dict[str, Any]:
    """Hand what was said to memory. What became of that; inside `acting`."""
    policy = MemorySettings.objects.get_or_default(told.account_id)
    if not policy.memory_enabled or not policy.auto_store:
        return {"skipped": "the account's policy: memories are not stored by themselves"}
    said = [
        Said(role=message["role"], text=words_of(message))
        for message in messages
        if words_of(message).strip()
    ]
    if not any(not each.is_system for each in said):
        return {"messages": 0}
    handed = enqueue_conversation(told, said)
    return {"messages": len(said), "event_id": str(handed.event_id)}


SOURCES: Mapping[str, Source] = {
    "rules": from_rules,
    "lore": from_lore,
    "memory": from_memory,
    "knowledge": from_knowledge,
}
