"""The demo's documents and lore."""
