"""Pages: where knowledge comes from, what was made of it, and lore."""
