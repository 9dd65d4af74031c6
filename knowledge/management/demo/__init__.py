"""Demo data of knowledge: documents and lore."""
