"""Context: what one model call is given, and what it cost."""
