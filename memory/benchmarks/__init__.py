"""Measuring memory at a size: synthetic entries, the plans of hot queries, and how fast they are.

Nothing here runs in the product. `manage.py perf` is the door.
"""
