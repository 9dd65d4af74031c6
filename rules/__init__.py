"""Rules, from draft through shadow to active."""
