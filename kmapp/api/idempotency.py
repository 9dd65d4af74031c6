"""Idempotency keys: the first response is stored and replayed.

A view stores its response inside the transaction of the change (`AgentView.seal`), so that a crash
leaves both or neither. The claim on a key is a lease. If its holder dies, a retry takes the key
over when the lease expires. If the holder was only slow, storing its response fails and its
transaction is rolled back.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db.models.functions import Now
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.authentication import KeyPrincipal
from kmapp.accounts.for_each_account import run_for_each_account
from kmapp.api.errors import translate_error
from kmapp.api.models import IdempotentRequest
from kmapp.database.ids import uuid7
from kmapp.database.keyed_digests import keyed_digest, matches_digest
from kmapp.database.steady_clock import SteadyTime
from kmapp.errors import Conflict, Gone, Invalid, Waiting

HEADER = "Idempotency-Key"
KEY = re.compile(r"[\x21-\x7e]{1,255}")
RETENTION = timedelta(hours=24)
LEASE = timedelta(seconds=60)
MOST_REQUESTS = timedelta(seconds=2)  # within which most requests finish
ID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b")
UNIQUE = ("account", "key_id", "idempotency_key")
State = IdempotentRequest.State


class InFlight(Waiting):
    """The first request with this key is still running."""

    status = 409
    code = "idempotency_in_flight"


@dataclass(slots=True)
class KeyClaim:
    """The lease of a key; the token permits storing the response."""

    account: UUID
    row: UUID
    token: UUID
    is_decided: bool = False  # whether the response was stored, or the key or its lease released
    build_body: Callable[[Response], Any] = attrgetter("data")  # the body as the view sends it

    def seal(self, status: int, data: Any) -> None:
        """Store the response; call it in the transaction of the change."""
        text = JSONRenderer().render(data).decode()
        changed = self._claimed_rows().update(
            state=State.DONE,
            status=status,
            answer=text,
            object_ids=sorted({UUID(match) for match in ID.findall(text)}),
            expires_at=Now() + RETENTION,
        )
        if not changed:
            raise InFlight("Another request took over this key.", retry_after=1)
        self.is_decided = True

    def release(self) -> None:
        """Release the key, so that the next request with it runs again."""
        self._claimed_rows().delete()
        self.is_decided = True

    def end_lease(self) -> None:
        """Let a repetition run again; another request with the key is still refused."""
        # In the past, also if the clock goes back.
        self._claimed_rows().update(lease_until=Now() - LEASE)
        self.is_decided = True

    def _claimed_rows(self) -> Any:
        own_requests = IdempotentRequest.objects.of(self.account)
        return own_requests.filter(pk=self.row, lease_token=self.token, state=State.IN_FLIGHT)


def claim_key(
    request: Request, principal: KeyPrincipal, key: str, options: Sequence[str] = ()
) -> KeyClaim | HttpResponse:
    """Claim a key, or return the stored response of the same request.

    A request with the same body but other `options` is a different one.
    """
    if not KEY.fullmatch(key):
        raise Invalid(
            f"{HEADER} has 1 to 255 visible ASCII characters.",
            issues=[{"path": HEADER, "message": "Has 1 to 255 visible ASCII characters."}],
        )
    purpose = f"idempotency:{principal.account_id}"
    body = json.dumps([request.method, request.path, request.data, *options], sort_keys=True)
    fingerprint, token = keyed_digest(purpose, body), uuid7()
    lease: dict[str, Any] = {
        "fingerprint": fingerprint,
        "lease_token": token,
        "lease_until": Now() + LEASE,
        "expires_at": Now() + RETENTION,
    }
    fresh = IdempotentRequest(
        account_id=principal.account_id, key_id=principal.key_id, idempotency_key=key, **lease
    )
    with acting(principal.account_id):
        # The conflict clause updates nothing, but locks an existing row: its holder might release
        # it before we read it.
        IdempotentRequest.objects.bulk_create(
            [fresh], update_conflicts=True, unique_fields=UNIQUE, update_fields=["idempotency_key"]
        )
        rows = IdempotentRequest.objects.of(principal.account_id).annotate(
            now=Now(), steady=SteadyTime()
        )
        row = rows.get(key_id=principal.key_id, idempotency_key=key)
        if row.pk != fresh.pk:
            answer = _find_stored_response(row, same=matches_digest(row.fingerprint, purpose, body))
            if answer is not None:
                return answer
            rows.filter(pk=row.pk).update(
                state=State.IN_FLIGHT, status=None, answer="", object_ids=[], **lease
            )
        return KeyClaim(principal.account_id, row.pk, token)


def _find_stored_response(row: IdempotentRequest, *, same: bool) -> HttpResponse | None:
    """Return the stored response for a repeated request, or None if the key may be taken over."""
    now: datetime = row.now  # type: ignore[attr-defined]  # annotated: the database's clock
    if row.expires_at <= row.steady:  # type: ignore[attr-defined]  # annotated
        return None
    if row.state == State.FORGOTTEN:
        raise Gone(
            "The response stored for this Idempotency-Key was erased.", code="idempotency_forgotten"
        )
    if not same:
        raise Conflict(
            "This Idempotency-Key was already used with a different request. Use a new key.",
            code="idempotency_mismatch",
        )
    if row.state == State.DONE:
        answer = HttpResponse(row.answer, status=row.status, content_type="application/json")
        answer["Idempotent-Replayed"] = "true"
        return answer
    left = (row.lease_until - now).total_seconds()
    if 0 < left <= 2 * LEASE.total_seconds():  # more only if the clock went back since
        raise InFlight(
            "The first request with this key is still running.", retry_after=_choose_delay(left)
        )
    return None


def _choose_delay(left: float) -> float:
    """Return after how many seconds a repetition may succeed; `left` of the lease remain.

    At first it is likely to find the stored response soon. Later the first request may have died,
    and then a repetition succeeds only when the lease has expired.
    """
    return 1 if LEASE.total_seconds() - left < MOST_REQUESTS.total_seconds() else left


def run_once(
    claim: KeyClaim, handler: Callable[..., HttpResponseBase], *args: Any, **kwargs: Any
) -> HttpResponseBase:
    """Run a handler and store its response, refusals included; failures are not stored."""
    try:
        response = handler(*args, **kwargs)
    except Exception as error:
        refusal = translate_error(error)
        with acting(claim.account):  # the handler's transaction has rolled back, and with it a seal
            if refusal is None or refusal.passes:
                claim.release()
            else:
                claim.seal(refusal.status, refusal.body)
        raise
    if not claim.is_decided and isinstance(response, Response):
        with acting(claim.account):
            claim.seal(response.status_code, claim.build_body(response))
    return response


def delete_expired_responses() -> int:
    return sum(run_for_each_account(_delete_expired))


def _delete_expired(account_id: UUID) -> int:
    with acting(account_id):
        return IdempotentRequest.objects.of(account_id).expired().delete()[0]
