"""Ledger: every change of primary data is a commit in its account's hash chain.

`actions` writes. Pure: `canonical`, `chain`, `signing`. `fsck` verifies everything and shares no
code with the writer.
"""
