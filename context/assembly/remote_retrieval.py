"""Retrieval from another kmapp over its API, with a deadline and a circuit breaker.

Its results are at most `semi_trusted`: this installation cannot verify its trust levels.
"""

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from context.assembly.prompt_inputs import Snippet
from context.assembly.retrieval_request import Remote, RetrievalRequest
from kmapp.database.encryption import DecryptionFailed, decrypt_text
from kmapp.providers.breaker import get_breaker
from kmapp.providers.client import build_post, post_json
from kmapp.providers.errors import Faulted, ProviderError
from kmapp.providers.metrics import record_call
from kmapp.search.variants import VARIANT_HEADER
from kmapp.security.prompt_injection import detect_flags

TEXT = 100_000  # characters of one result
CITATION = 8_000  # of its citation, as JSON
_KINDS = {"memory": "memory_entry", "knowledge": "knowledge_chunk"}
_IDS = {"memory": ("user_id", "agent_id", "app_id", "run_id", "scope"), "knowledge": ()}


class _RemoteResult(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    id: Annotated[UUID, Field(strict=False)]
    text: str = Field(max_length=TEXT)
    score: float = Field(ge=0, le=1, allow_inf_nan=False)
    title: str | None = None
    observed_at: str | None = None
    trust: str = "semi_trusted"
    citations: list[dict[str, Any]] = Field(default=[], max_length=20)


class _RemoteResponse(BaseModel):
    results: list[_RemoteResult]


def search_remote(
    remote: Remote, name: str, request: RetrievalRequest, seconds: float
) -> list[Snippet]:
    """Return the snippets of the other kmapp for this source. Raises ProviderError."""
    if remote.base_url not in settings.REMOTE_BASE_URLS:
        raise ProviderError("This installation no longer allows this address.")
    try:
        key = decrypt_text(remote.sealed_key)
    except DecryptionFailed as error:
        raise ProviderError("The stored key cannot be decrypted. Set it again.") from error
    path = f"/{name}/search"
    post = build_post(path, _build_query(name, request), {VARIANT_HEADER: request.variant.name})
    with record_call("remote", name) as call, _guard_remote(remote, path, request):
        results = _parse_results(post_json(f"{remote.base_url}/v1", key, post, seconds))
        call.outcome = "ok"
    snippets = [_snippet(remote, name, request, result) for result in results[: request.limit]]
    return [snippet for snippet in snippets if snippet.text.strip()]


def _guard_remote(
    remote: Remote, path: str, request: RetrievalRequest
) -> AbstractContextManager[None]:
    """Return the circuit breaker of a path for this account, unless the call has little time.

    A wrong setting of one account must neither block another, nor alarm the operator.
    """
    if not request.has_usual_deadline:
        return nullcontext()
    endpoint = f"{remote.base_url}{path}?account={request.account_id}"
    return get_breaker(endpoint, is_shared=False).guard()


def _build_query(name: str, request: RetrievalRequest) -> dict[str, Any]:
    body = {field: value for field in _IDS[name] if (value := getattr(request, field))}
    if name == "knowledge" and request.knowledge_sources:
        body["sources"] = list(request.knowledge_sources)
    return {"query": request.query, "limit": request.limit, "min_score": request.min_score, **body}


def _parse_results(response: Any) -> list[_RemoteResult]:
    try:
        return _RemoteResponse.model_validate(response).results
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise Faulted(f"The other kmapp sent an invalid response: {first['msg']}") from error


def _snippet(
    remote: Remote, name: str, request: RetrievalRequest, result: _RemoteResult
) -> Snippet:
    text = _clean_text(result.text)
    is_doubtful = result.trust == "untrusted" or detect_flags(text)
    return Snippet(
        source=name,
        ref=str(result.id),
        text=text,
        score=result.score,
        trust="untrusted" if is_doubtful else "semi_trusted",
        why={"remote": remote.base_url},
        citation={
            **_citation(result),
            "kind": _KINDS[name],
            "ref": str(result.id),
            "title": _clean_text(result.title or "")[:500] or None,
            "observed_at": _clean_text(result.observed_at or "")[:50] or None,
            **request.variant.versions(),
            "remote": remote.base_url,
        },
    )


def _citation(result: _RemoteResult) -> Mapping[str, Any]:
    """Return the locator of the text, unless it is too large or cannot be stored."""
    locator = result.citations[0] if result.citations else {}
    try:
        size = len(json.dumps(locator, allow_nan=False))
        return {"locator": _clean_values(locator)} if size <= CITATION else {}
    except (ValueError, RecursionError):  # an infinite number, or deep nesting
        return {}


def _clean_values(value: Any) -> Any:
    """Return a JSON value with all of its texts cleaned."""
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, dict):
        return {_clean_text(name): _clean_values(inner) for name, inner in value.items()}
    return [_clean_values(inner) for inner in value] if isinstance(value, list) else value


def _clean_text(text: str) -> str:
    """Replace characters that PostgreSQL cannot store: lone surrogates and NUL."""
    return text.encode(errors="replace").decode().replace("\x00", "�")
