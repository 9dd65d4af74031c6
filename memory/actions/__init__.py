"""Verbs. Each is one change of truth: rows, versions, postings, one commit, and what it owes."""
