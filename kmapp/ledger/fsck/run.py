"""The complete verification."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kmapp.ledger.fsck.chain import walk
from kmapp.ledger.fsck.checkpoints import check_against, public_keys, read, vanished
from kmapp.ledger.fsck.derived import check_derived
from kmapp.ledger.fsck.findings import Findings
from kmapp.ledger.fsck.rows import check_rows
from kmapp.ledger.fsck.source import opened


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to check and against what."""

    address: Mapping[str, Any]  # psycopg's connection parameters
    checkpoints: Path
    public_keys: Sequence[Path]
    accounts: Sequence[str] = ()  # ids; none: all
    chain_only: bool = False
    limit: int = 1000  # problems that are kept; all are counted


def check(options: Options) -> Findings:
    """Look at everything once. Nothing is changed."""
    findings = Findings(limit=options.limit)
    keys = public_keys(path for path in options.public_keys if path.exists())
    remembered = read(options.checkpoints, keys, findings)
    with opened(options.address) as source:
        accounts = [str(row[0]) for row in source.all("SELECT account_ids()")]
        if not options.accounts:
            for problem in vanished(accounts, remembered):
                findings.add(problem)
        for account in options.accounts or accounts:
            findings.accounts += 1
            source.enter(account)
            chain = walk(source, findings, remembered.hashes.get(account, {}))
            check_against(source, findings, chain, remembered)
            if not options.chain_only:
                check_rows(source, findings, chain)
                for problem in check_derived(source):
                    findings.add(problem)
    return findings
