"""Pages of context."""
