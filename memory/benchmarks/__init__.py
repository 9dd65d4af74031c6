"""Benchmarks of memory: synthetic data, plans of hot queries, and timings.

Nothing here runs in the product. `manage.py perf` is the door.
"""
