"""Benchmark data and scenarios of context."""
