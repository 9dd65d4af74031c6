"""Base class of endpoints: authentication, scope per method, rate limit, parsing."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, cast
from uuid import UUID

import structlog
from django.db import DatabaseError
from django.http.response import HttpResponseBase
from rest_framework import exceptions
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.status import is_success
from rest_framework.views import APIView

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.authentication import AgentRequest, KeyPrincipal
from kmapp.accounts.scopes import Scope
from kmapp.api import idempotency
from kmapp.api.errors import RETRY_AFTER
from kmapp.api.field_warnings import check_ignored_fields, find_warnings
from kmapp.api.object_uris import choose_scheme, is_from_aionis
from kmapp.api.throttles import Budget, client_address, count_request
from kmapp.api.variant_header import get_requested_variant
from kmapp.database.ids import parse_uuid
from kmapp.errors import Conflict, Denied, DomainError, Unavailable
from kmapp.ledger.read_verification import WithheldResults, collect_withheld
from kmapp.notifications.kernel_notifications import report_refusal
from kmapp.notifications.seal_mismatches import report_mismatches
from kmapp.search.variants import DEFAULT_VARIANT, VARIANT_HEADER, Variant

log = structlog.get_logger()

OTHER_ACCOUNT = ("account_id", "tenant_id")
OWN_TENANT = "default"  # what clients of single-tenant servers send


class AlwaysJSON(BaseContentNegotiation):
    def select_parser(self, request: Request, parsers: Any) -> Any:
        """Return the parser for the body's media type; None is a 415."""
        sent = (request.content_type or "").partition(";")[0].strip().lower()
        return next((each for each in parsers if each.media_type == sent), None)

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


class AgentView(APIView):
    """An endpoint for agents.

    `scopes` holds the scope that each method requires; other methods are denied. A key with one of
    `other_scopes` passes too: the handler limits what it gets. `bucket` is the
    rate limit that requests count against: by default `recall` if all scopes only read, or `write`.
    With `idempotent`, POST accepts an Idempotency-Key: by default if its scope writes.

    Handlers read `self.account` and open `acting(self.account)` themselves, for as short as
    possible: no model is called inside a transaction.
    """

    scopes: ClassVar[Mapping[str, Scope]] = {}
    other_scopes: ClassVar[Collection[Scope]] = ()
    bucket: ClassVar[str]
    idempotent: ClassVar[bool]
    content_negotiation_class = AlwaysJSON
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]

    request: AgentRequest
    account: UUID
    actor: Actor
    variant: Variant = DEFAULT_VARIANT  # the variant of the response
    requested_variant: Variant | None = None  # the variant that the request names
    budget: Budget | None = None
    claim: idempotency.KeyClaim | None = None
    warnings: Sequence[Mapping[str, Any]] = ()  # about ignored fields of the request
    withheld: WithheldResults  # rows that differ from the ledger

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Set the defaults of `bucket` and `idempotent` from the scopes."""
        super().__init_subclass__(**kwargs)
        reads = {method: scope.value.endswith(":read") for method, scope in cls.scopes.items()}
        if "bucket" not in vars(cls):
            cls.bucket = "recall" if reads and all(reads.values()) else "write"
        if "idempotent" not in vars(cls):
            cls.idempotent = not reads.get("POST", True)

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Collect what the response withholds."""
        with collect_withheld() as self.withheld:
            return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate, check scope and rate limit, and determine the account."""
        try:
            super().initial(request, *args, **kwargs)
        except (exceptions.AuthenticationFailed, exceptions.NotAuthenticated):
            self._count("anonymous", client_address(request))
            raise
        principal = cast(KeyPrincipal, request.auth)
        self.account, self.actor = principal.account_id, principal.actor
        check_account(request, principal)
        choose_scheme(request)
        self.requested_variant = get_requested_variant(request)
        self.variant = self.requested_variant or DEFAULT_VARIANT
        key = request.headers.get(idempotency.HEADER)
        if not self.idempotent or request.method != "POST":
            return
        if key is not None:
            self._claim(key, principal)
        elif request_id := find_repeated_id(request):
            self._claim_id(request_id, principal)

    def _claim(self, key: str, principal: KeyPrincipal) -> None:
        """Replace `post`, which dispatch calls after `initial`, by a handler that uses the key."""
        claimed = idempotency.claim_key(self.request, principal, key, self.list_options())
        handler: Callable[..., HttpResponseBase]
        if isinstance(claimed, idempotency.KeyClaim):
            self.claim = claimed
            claimed.build_body = self._build_body
            handler = partial(idempotency.run_once, claimed, self.post)  # type: ignore[attr-defined]
        else:
            handler = lambda *args, **kwargs: claimed  # noqa: E731
        setattr(self, "post", handler)  # noqa: B010 - it shadows the method on this instance only

    def _claim_id(self, request_id: str, principal: KeyPrincipal) -> None:
        """Use the ID of the request as its key, unless another request had the same ID."""
        try:
            with suppress(Conflict):
                self._claim(request_id, principal)
        except idempotency.InFlight as error:
            # The client tries again after a 503, but not after a 409.
            raise Unavailable(error.message, code=error.code, retry_after=RETRY_AFTER) from error

    def list_options(self) -> Sequence[str]:
        """Return what a protocol requests with options of the view instead of the body."""
        return ()

    def seal(self, response: Response) -> Response:
        """Store the response for retries. Call it inside the `acting` of the change."""
        if self.claim:
            self.claim.seal(response.status_code, self._build_body(response))
        return response

    def release_key(self, response: Response) -> Response:
        """Let a retry run again, because the response may not be stored. Inside `acting`.

        The key still stands for this request only.
        """
        if self.claim:
            self.claim.end_lease()
        return response

    def check_throttles(self, request: Request) -> None:
        self._count(self.bucket, str(cast(KeyPrincipal, request.auth).key_id))

    def _count(self, bucket: str, client: str) -> None:
        self.budget = count_request(bucket, client)
        if self.budget:
            self.budget.enforce()

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        """Add headers, warnings about ignored fields, and the number of withheld results."""
        response = super().finalize_response(request, response, *args, **kwargs)
        response.headers.setdefault(VARIANT_HEADER, self.variant.name)
        if self.withheld.results:
            self._report_withheld()
        if self.warnings or self.withheld.results:
            response.data = self._build_body(response)
        if self.budget:
            for name, value in self.budget.headers().items():
                response.headers.setdefault(name, value)
        return response

    def _build_body(self, response: Response) -> Any:
        """Return the data with warnings about ignored fields, and the number of withheld results.

        The response itself keeps its data, because it may be stored before it is finalized.
        """
        body = response.data
        if self.warnings and isinstance(body, dict) and is_success(response.status_code):
            body = {**body, "warnings": [*body.get("warnings", []), *self.warnings]}
        if self.withheld.results and isinstance(body, dict):
            body = {**body, "withheld": len(self.withheld.results)}
        return body

    def handle_exception(self, exc: Exception) -> Response:
        """Notify people of refusals by a budget or quota; the change itself is rolled back."""
        if isinstance(exc, DomainError) and hasattr(self, "account"):
            try:
                report_refusal(self.account, self.actor, exc.code)
            except DatabaseError:  # the refusal is right without it
                log.exception("refusal_not_recorded")
        return super().handle_exception(exc)

    def _report_withheld(self) -> None:
        try:
            with acting(self.account):
                report_mismatches(self.account, self.withheld.mismatches)
        except DatabaseError:  # the log has the mismatches, and the response is right without them
            log.exception("mismatches_not_stored")


def parse(serializer_class: type[Serializer[Any]], request: Request) -> dict[str, Any]:
    """Return the validated body, or the query of a GET.

    Ignored fields become warnings of the response; a request with the strict header is refused.
    """
    data = request.query_params if request.method in ("GET", "HEAD") else request.data
    serializer = serializer_class(data=data, context={"request": request})
    serializer.is_valid(raise_exception=True)
    warnings = find_warnings(serializer, data)
    check_ignored_fields(request, warnings)
    view = (request.parser_context or {}).get("view")
    if isinstance(view, AgentView):
        view.warnings = warnings
    return dict(serializer.validated_data)


def find_repeated_id(request: Request) -> str | None:
    """Return the ID by which a repetition of the request is recognised, if its client has one.

    aionis-sdk repeats a POST after an error with the same request ID, by default a UUID.
    """
    request_id = parse_uuid(request.headers.get("X-Request-Id", ""))
    return f"x-request-id:{request_id}" if request_id and is_from_aionis(request) else None


def check_account(request: Request, principal: KeyPrincipal) -> None:
    """Refuse a body that names another account than the key's."""
    own = {str(principal.account_id), principal.account_slug, OWN_TENANT}
    for source in _list_account_sources(request):
        for name in OTHER_ACCOUNT:
            named = source.get(name)
            if named is not None and str(named).lower() not in own:
                raise Denied(
                    f"{name} names another account than the key's.", code="identity_mismatch"
                )


def _list_account_sources(request: Request) -> Iterator[Mapping[str, Any]]:
    """Yield the places that may name an account: query, body, and items of lists in the body."""
    yield request.query_params
    if isinstance(request.data, Mapping):
        yield request.data
        lists = (value for value in request.data.values() if isinstance(value, list))
        yield from (item for items in lists for item in items if isinstance(item, Mapping))
