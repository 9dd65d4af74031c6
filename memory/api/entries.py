"""Writing, reading, changing and forgetting memories over HTTP."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.accounts.scopes import Scope
from kmapp.api.views import AgentView, parse
from kmapp.errors import Denied, Invalid
from kmapp.providers.active import active_model
from memory.actions import review
from memory.actions.entries import Written, needs_person, write
from memory.actions.proposals import propose_update
from memory.actions.review import Decision
from memory.api import output
from memory.api.finding import Which, forgettable, one, readable
from memory.api.serializers import TEXT, EntryInput, WriteInput, edge_of, entry_of
from memory.api.shapes import Memory, MemoryWithVector, Proposal, WriteAnswer
from memory.drafts import Batch
from memory.models import MemoryEntry


class Write(AgentView):
    """Write a batch of memories and edges: all of it in one commit, or nothing.

    The same `client_id` with the same body answers the first ids and commit; with another body it
    is a 409.
    """

    scopes = {"POST": Scope.MEMORY_WRITE}
    idempotent = True

    @extend_schema(request=WriteInput, responses={201: WriteAnswer, 200: WriteAnswer})
    def post(self, request: Request) -> Response:
        asked = parse(WriteInput, request)
        scope = asked.get("scope") or ""
        said = asked.get("input_text") or (
            {"sha256": asked["input_sha256"]} if asked.get("input_sha256") else None
        )
        batch = Batch(
            entries=[entry_of(node) for node in asked.get("nodes", [])],
            edges=[edge_of(edge) for edge in asked.get("edges", [])],
            scope=scope,
            input=said,
            embed=asked["auto_embed"],
            reembed=asked["force_reembed"],
        )
        with acting(self.account):
            written = write(account_id=self.account, actor=self.actor, batch=batch)
            shown = _written(written, self.account, scope)
            return self.seal(Response(shown, status=201 if written.fresh else 200))


def _written(written: Written, account_id: UUID, scope: str) -> WriteAnswer:
    commit = written.commit
    answer: WriteAnswer = {
        "tenant_id": account_id,
        "scope": scope or "default",
        "commit_id": commit.pk if commit else None,
        "commit_uri": output.uri(commit.pk, "commit", account_id, scope) if commit else None,
        "commit_hash": commit.commit_hash if commit else None,
        "nodes": [output.node_output(entry) for entry in written.entries],
        "edges": [output.edge_output(edge, scope) for edge in written.edges],
    }
    if written.queued:
        answer["embedding_backfill"] = {
            "enqueued": True,
            "pending_nodes": len(written.queued),
            "event_ids": list(written.queued),
        }
    return answer


class StoreInput(EntryInput):
    """One memory to remember."""

    auto_embed = serializers.BooleanField(default=True)


class Store(AgentView):
    """Remember one text."""

    scopes = {"POST": Scope.MEMORY_WRITE}
    idempotent = True

    @extend_schema(request=StoreInput, responses={201: Memory, 200: Memory})
    def post(self, request: Request) -> Response:
        asked = parse(StoreInput, request)
        embed = asked.pop("auto_embed")
        batch = Batch(entries=[entry_of(asked)], embed=embed)
        with acting(self.account):
            written = write(account_id=self.account, actor=self.actor, batch=batch)
            shown = output.entry_output(written.entries[0])
            return self.seal(Response(shown, status=201 if written.fresh else 200))


class Get(AgentView):
    """Read one memory."""

    scopes = {"POST": Scope.MEMORY_READ}
    bucket = "recall"

    @extend_schema(request=Which, responses={200: MemoryWithVector})
    def post(self, request: Request) -> Response:
        asked = parse(Which, request)
        with acting(self.account):
            entry = one(readable(self.request.auth, asked), asked)
            shown = output.with_vector_output(entry, active_model().name)
        return Response(shown)


# What an update may change, by its wire name.
CHANGEABLE = {
    "text": "content",
    "title": "title",
    "kind": "kind",
    "metadata": "slots",
    "tags": "tags",
}


class UpdateInput(Which):
    """What to change. Only what is given changes."""

    text = serializers.CharField(max_length=TEXT, required=False, trim_whitespace=False)
    title = serializers.CharField(max_length=500, required=False, allow_blank=True)
    kind = serializers.ChoiceField(choices=MemoryEntry.Kind.choices, required=False)
    metadata = serializers.DictField(required=False)
    tags = serializers.ListField(
        child=serializers.CharField(max_length=100), max_length=50, required=False
    )
    version = serializers.IntegerField(
        min_value=1, required=False, help_text="Change it only if it is still at this version."
    )
    reason = serializers.CharField(max_length=1000, required=False, allow_blank=True)


class Update(AgentView):
    """Change a memory. What everyone would see becomes a proposal that a person reviews."""

    scopes = {"POST": Scope.MEMORY_WRITE}
    idempotent = True

    @extend_schema(request=UpdateInput, responses={200: Memory, 202: Proposal})
    def post(self, request: Request) -> Response:
        asked = parse(UpdateInput, request)
        values = {ours: asked[name] for name, ours in CHANGEABLE.items() if name in asked}
        if not values:
            raise Invalid(
                "Say what to change: text, title, kind, metadata or tags.",
                issues=[{"path": "text", "message": "nothing to change"}],
            )
        with acting(self.account):
            entry = one(readable(self.request.auth, asked), asked)
            decision = Decision(
                account_id=self.account,
                entry_id=entry.pk,
                actor=self.actor,
                version=asked.get("version"),
                reason=asked.get("reason", ""),
            )
            account = Account.objects.get(pk=self.account)
            if entry.status == MemoryEntry.Status.ACTIVE and needs_person(
                account, self.actor, entry.visibility
            ):
                proposed = propose_update(decision, values)
                shown = output.proposal_output(proposed, supersedes=entry.pk)
                return self.seal(Response(shown, status=202))
            changed = review.edit(decision, values)
            return self.seal(Response(output.entry_output(changed)))


class ForgetInput(Which):
    """Which memory to forget, and why."""

    reason = serializers.CharField(max_length=1000, required=False, allow_blank=True)


class Forget(AgentView):
    """Forget a memory: nobody is told it any more. A person can take it back."""

    scopes = {"POST": Scope.MEMORY_WRITE}
    idempotent = True

    @extend_schema(request=ForgetInput, responses={200: Memory})
    def post(self, request: Request) -> Response:
        asked = parse(ForgetInput, request)
        with acting(self.account):
            entry = one(forgettable(self.request.auth, asked), asked)
            if entry.status != MemoryEntry.Status.FORGOTTEN:
                self._refuse_alone(entry)
                entry = review.forget(
                    Decision(
                        account_id=self.account,
                        entry_id=entry.pk,
                        actor=self.actor,
                        reason=asked.get("reason", ""),
                    )
                )
            return self.seal(Response(output.entry_output(entry)))

    def _refuse_alone(self, entry: MemoryEntry) -> None:
        """What a person let everyone see is taken from everyone by a person."""
        everyones = MemoryEntry.Visibility.ACCOUNT
        if (entry.status, entry.visibility) != (MemoryEntry.Status.ACTIVE, everyones):
            return
        if needs_person(Account.objects.get(pk=self.account), self.actor, everyones):
            raise Denied(
                "Everyone is told this memory: ask a reviewer to forget it.", code="needs_review"
            )
