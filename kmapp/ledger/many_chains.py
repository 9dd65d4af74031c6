"""Reads of many chains in one statement, for signing them and comparing them with signed heads.

Row-level security shows the rows of one account at a time, so these statements call functions of
the database's owner.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from uuid import UUID

from kmapp.database.raw_sql import fetch_all
from kmapp.ledger.chain import Head
from kmapp.ledger.models import Commit

# Together at most 4 MiB of changes as stored, like one block of `verify.stream_commit_blocks`.
MAX_CHAINS = 50  # chains whose commits one statement reads
MAX_COMMITS_TOGETHER = 20  # commits of each
MAX_DIFF_BYTES = 4096  # of the changes of each commit

_COMMITS_SQL = "SELECT * FROM commits_of_chains(%s::uuid[], %s::bigint[], %s::int, %s::int)"
_HEADS_SQL = (
    "SELECT account_id, seq, commit_hash FROM commits_of_chains(%s::uuid[], %s::bigint[], 1, 0)"
)
_COPIES_SQL = "SELECT account_id, seq, commit_hash FROM newest_checkpoints(%s::uuid[])"


def load_commits(starts: Mapping[UUID, int]) -> dict[UUID, list[Commit]]:
    """Return the first MAX_COMMITS_TOGETHER commits of each account from a number on, in order.

    The changes of a commit are None if they are larger than MAX_DIFF_BYTES. One query; pass at most
    MAX_CHAINS accounts.
    """
    commits = defaultdict[UUID, list[Commit]](list)
    values = [list(starts), list(starts.values()), MAX_COMMITS_TOGETHER, MAX_DIFF_BYTES]
    for commit in Commit.objects.raw(_COMMITS_SQL, values):
        commits[commit.account_id].append(commit)
    return commits


def list_chains_with(heads: Mapping[UUID, Head]) -> set[UUID]:
    """Return the accounts whose chain contains the commit in `heads`. At most one query."""
    if not heads:
        return set()
    first_commits = _fetch_heads(_HEADS_SQL, list(heads), [head.seq for head in heads.values()])
    return {each for each, head in first_commits.items() if head == heads[each]}


def load_copied_heads(accounts: Collection[UUID]) -> dict[UUID, Head]:
    """Return the newest head of each account that the database has a copied checkpoint of.

    At most one query.
    """
    return _fetch_heads(_COPIES_SQL, list(accounts)) if accounts else {}


def _fetch_heads(statement: str, *parameters: object) -> dict[UUID, Head]:
    return {account_id: Head(*head) for account_id, *head in fetch_all(statement, parameters)}
