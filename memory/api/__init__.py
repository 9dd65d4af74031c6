"""The doors of agents."""
