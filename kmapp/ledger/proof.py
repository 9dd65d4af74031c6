"""Proof that a state was sealed by a commit with a valid hash."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from kmapp.ledger.canonical import digest
from kmapp.ledger.chain import commit_hash
from kmapp.ledger.models import Commit, Seal
from kmapp.ledger.verify import link_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One state of one object, and the commit that is said to have sealed it."""

    commit_id: UUID
    state: Mapping[str, Any]


def proven(
    account_id: UUID, object_type: str, object_id: UUID, claims: Iterable[Claim]
) -> dict[UUID, bool]:
    """For each commit whether the claimed state is what it sealed. Two queries. Inside `acting`."""
    claimed = {claim.commit_id: claim.state for claim in claims}
    commits = Commit.objects.of(account_id).in_bulk(list(claimed))
    salts = dict(
        Seal.objects.of(account_id)
        .filter(object_type=object_type, object_id=object_id, commit_id__in=claimed)
        .values_list("commit_id", "salt")
    )
    name = f"{object_type}:{object_id}"
    return {
        pk: pk in commits and pk in salts and _holds(commits[pk], name, bytes(salts[pk]), state)
        for pk, state in claimed.items()
    }


def _holds(commit: Commit, name: str, salt: bytes, state: Mapping[str, Any]) -> bool:
    sealed = [change["digest"] for change in commit.diff if change["object"] == name]
    return commit_hash(link_of(commit)) == commit.commit_hash and digest(salt, state) in sealed
