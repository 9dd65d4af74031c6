"""Demo data of calls."""
