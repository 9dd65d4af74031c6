"""The pages of context."""
