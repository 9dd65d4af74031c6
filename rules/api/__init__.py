"""Rules over HTTP."""
