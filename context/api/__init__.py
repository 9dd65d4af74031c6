"""Context over HTTP."""
