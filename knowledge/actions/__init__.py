"""The verbs of knowledge: deliver, read, cut, embed, remove, erase; and those of lore."""
