"""Ledger: every change of truth is one commit in its account's hash chain, written in the transaction of the change.

Writes: kmapp.ledger.actions. Pure: canonical, chain, signing. `fsck` checks it all and shares no code with the writer.
"""
