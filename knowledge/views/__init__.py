"""Pages of knowledge and lore."""
