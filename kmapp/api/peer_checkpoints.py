"""API for checkpoints of another kmapp, which this one stores and countersigns."""

from typing import NotRequired, TypedDict

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.typed_dict_schemas import ParsedAnswer
from kmapp.api.views import AgentView, parse
from kmapp.errors import Invalid
from kmapp.ledger.checkpoint_copies import CopyFailed, parse_records
from kmapp.ledger.peer_checkpoints import countersign, load_peer_file

MAX_CHECKPOINTS = 500  # statements in one request


class CheckpointsInput(Typed):
    """Checkpoints as they are in the file: one object per line."""

    checkpoints = serializers.ListField(
        child=serializers.DictField(), min_length=1, max_length=MAX_CHECKPOINTS
    )


class HeadShown(TypedDict):
    """A commit of a chain."""

    seq: int
    commit_hash: str


class StatementShown(TypedDict):
    """What is signed: the head of an account's chain, and the head that it replaces, if any."""

    account: str
    seq: int
    commit_hash: str
    created_at: str
    replaces: NotRequired[HeadShown]


class CheckpointShown(TypedDict):
    """A statement with its signature (Ed25519 over canonical JSON) and the ID of the key."""

    key: str
    signature: str
    statement: StatementShown


class CheckpointsAnswer(ParsedAnswer):
    """Checkpoints."""

    checkpoints: list[CheckpointShown]


class Checkpoints(AgentView):
    """Checkpoints of another kmapp, sent with keys of this account.

    GET returns the newest of each of its accounts. POST stores later ones and returns them
    countersigned: with a signature of our key over the line `kmapp countersignature` and the
    canonical JSON.
    """

    scopes = {"GET": Scope.LEDGER_COUNTERSIGN, "POST": Scope.LEDGER_COUNTERSIGN}
    idempotent = False  # it is by itself

    @extend_schema(responses={200: CheckpointsAnswer})
    def get(self, request: Request) -> Response:
        newest = load_peer_file(self.account).list_missing_from({})
        return Response({"checkpoints": [each.record() for each in newest]})

    @extend_schema(request=CheckpointsInput, responses={200: CheckpointsAnswer})
    def post(self, request: Request) -> Response:
        body = parse(CheckpointsInput, request)
        try:
            statements = parse_records(body)
        except CopyFailed as error:
            raise Invalid("checkpoints: each must be a line of a checkpoint file.") from error
        signed = countersign(self.account, statements)
        return Response({"checkpoints": [each.record() for each in signed]})
