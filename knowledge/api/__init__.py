"""The doors for agents: deliver, search, quote, withdraw."""
