"""Actions on rules. Every change is a commit."""
