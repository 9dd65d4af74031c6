"""Independent verification of the ledger, sharing no code with its writer.

It has its own SQL, canonical JSON, hashes and signature checks and imports nothing that writes, so
that it does not repeat a mistake of the writer. It reads one snapshot as the app role, one account
after the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kmapp.ledger.fsck.chain import walk_chain
from kmapp.ledger.fsck.checkpoints import (
    check_checkpoints,
    load_public_keys,
    read_checkpoints,
    report_missing_accounts,
)
from kmapp.ledger.fsck.database_snapshot import open_snapshot
from kmapp.ledger.fsck.derived_data import check_derived
from kmapp.ledger.fsck.findings import Findings
from kmapp.ledger.fsck.references import check_references
from kmapp.ledger.fsck.rows import check_rows

__all__ = ["Findings", "Options", "check"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    address: Mapping[str, Any]  # psycopg's connection parameters
    checkpoints: Path
    public_keys: Sequence[Path]
    accounts: Sequence[str] = ()  # ids; empty means all
    chain_only: bool = False
    limit: int = 1000  # problems that are stored; all are counted


def check(options: Options) -> Findings:
    findings = Findings(limit=options.limit)
    keys = load_public_keys(path for path in options.public_keys if path.exists())
    signed = read_checkpoints(options.checkpoints, keys, findings)
    read_again = cache(lambda: read_checkpoints(options.checkpoints, keys, Findings(limit=0)))
    with open_snapshot(options.address) as snapshot:
        accounts = [str(row[0]) for row in snapshot.fetch_all("SELECT account_ids()")]
        if not options.accounts:
            report_missing_accounts(accounts, findings, signed)
        for account in options.accounts or accounts:
            findings.accounts += 1
            snapshot.set_account(account)
            chain = walk_chain(snapshot, findings, signed.hashes.get(account, {}))
            check_checkpoints(snapshot, findings, chain, signed, read_again)
            if not options.chain_only:
                check_rows(snapshot, findings, chain)
                check_derived(snapshot, findings)
                check_references(snapshot, findings)
    return findings
