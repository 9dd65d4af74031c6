"""Context: assembly of the input of model calls, and reports of their tokens and cost."""
