"""The pages about rules."""
