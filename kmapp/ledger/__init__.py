"""Ledger: every change of truth is a commit in its account's hash chain, in the same transaction.

Writes: kmapp.ledger.actions. Pure: canonical, chain, signing. `fsck` checks it all and shares no
code with the writer.
"""
