"""Ledger: every change of primary data is a commit in its account's hash chain.

Writes: kmapp.ledger.actions. Pure: canonical, chain, signing. `fsck` checks it all and shares no
code with the writer.
"""
