"""Rules that select the tools and set the output of agents, from draft through shadow to active."""
