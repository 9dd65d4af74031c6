"""Independent verification of the ledger, sharing no code with its writer.

It reads the database with its own SQL, has its own canonical JSON, hashes and signature checks, and
imports nothing that writes: a mistake there must not be repeated here. One snapshot, read only, as
the app role, one account after the other. What is checked: `chain`, `rows`, `checkpoints`,
`derived`. What is sealed in which table: `tables`.
"""

from kmapp.ledger.fsck.findings import Findings, Problem
from kmapp.ledger.fsck.run import Options, check

__all__ = ["Findings", "Options", "Problem", "check"]
