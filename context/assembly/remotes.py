"""Another kmapp that answers for a source: asked over its API, within a time, behind a circuit.

Nothing that it says is trusted more than `semi_trusted`: what it calls trusted is its own word.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from context.assembly.calls import Snippet
from context.assembly.retrieval_requests import Remote, Wanted
from kmapp.database.encryption import CannotOpen, unseal
from kmapp.prompt_injection import detect_flags
from kmapp.providers.breaker import breaker_for
from kmapp.providers.client import post_json, posted
from kmapp.providers.errors import Faulted, ProviderError
from kmapp.providers.metrics import record_call
from kmapp.search.variants import HEADER

TEXT = 100_000  # characters of one result
CITATION = 8_000  # of its citation, as JSON
_KINDS = {"memory": "memory_entry", "knowledge": "knowledge_chunk"}
_IDS = {"memory": ("user_id", "agent_id", "app_id", "run_id", "scope"), "knowledge": ()}


class _Result(BaseModel):
    """What we read of one result."""

    model_config = ConfigDict(strict=True, extra="ignore")

    id: Annotated[UUID, Field(strict=False)]
    text: str = Field(max_length=TEXT)
    score: float = Field(ge=0, le=1, allow_inf_nan=False)
    title: str | None = None
    observed_at: str | None = None
    trust: str = "semi_trusted"
    citations: list[dict[str, Any]] = Field(default=[], max_length=20)


class _Answer(BaseModel):
    """What a search answers."""

    results: list[_Result]


def ask_remote(remote: Remote, name: str, wanted: Wanted, seconds: float) -> list[Snippet]:
    """What it finds for this source. Raises ProviderError when it does not say in time."""
    if remote.base_url not in settings.REMOTE_BASE_URLS:
        raise ProviderError("This installation does not ask that address any more.")
    try:
        key = unseal(remote.sealed_key)
    except CannotOpen as error:
        raise ProviderError("Its key cannot be read any more: set it anew.") from error
    path = f"/{name}/search"
    asked = posted(path, _question(name, wanted), {HEADER: wanted.variant.name})
    # By account: what one has set up wrongly closes the way of no other.
    circuit = breaker_for(f"{remote.base_url}{path}?account={wanted.account_id}").guard()
    with record_call("remote", name) as call, circuit:
        answer = _read(post_json(f"{remote.base_url}/v1", key, asked, seconds))
        call.outcome = "ok"
    found = [_snippet(remote, name, wanted, each) for each in answer.results[: wanted.limit]]
    return [each for each in found if each.text.strip()]


def _question(name: str, wanted: Wanted) -> dict[str, Any]:
    ids = {each: said for each in _IDS[name] if (said := getattr(wanted, each))}
    if name == "knowledge" and wanted.knowledge_sources:
        ids["sources"] = list(wanted.knowledge_sources)
    return {
        "query": wanted.query,
        "limit": wanted.limit,
        "min_score": wanted.min_score,
        **ids,
    }


def _read(answer: Any) -> _Answer:
    try:
        return _Answer.model_validate(answer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise Faulted(f"The other kmapp's answer is not understood: {first['msg']}") from error


def _snippet(remote: Remote, name: str, wanted: Wanted, result: _Result) -> Snippet:
    text = _storable(result.text)
    doubtful = result.trust == "untrusted" or detect_flags(text)
    return Snippet(
        source=name,
        ref=str(result.id),
        text=text,
        score=result.score,
        trust="untrusted" if doubtful else "semi_trusted",
        why={"remote": remote.base_url},
        citation={
            **_citation(result),
            "kind": _KINDS[name],
            "ref": str(result.id),
            "title": _storable(result.title or "")[:500] or None,
            "observed_at": _storable(result.observed_at or "")[:50] or None,
            **wanted.variant.versions(),
            "remote": remote.base_url,
        },
    )


def _citation(result: _Result) -> Mapping[str, Any]:
    """What it says of where the text stands, unless that is far too much."""
    said = _storable(json.dumps(result.citations[0] if result.citations else {}))
    return {"locator": json.loads(said)} if len(said) <= CITATION else {}


def _storable(text: str) -> str:
    """As the database keeps it: no half characters, and no NUL, spelled out or not."""
    return text.encode(errors="replace").decode().replace("\x00", "�").replace("\\u0000", "�")
