"""Benchmarks of memory: synthetic data, plans of hot queries, and timings.

`manage.py perf` runs them; the product does not.
"""
