"""Rules: what must be obeyed, from draft through shadow to active."""
