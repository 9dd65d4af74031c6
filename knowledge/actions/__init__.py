"""Actions on knowledge and lore."""
