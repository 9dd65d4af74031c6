"""Write operations of context: one function, one transaction, one commit."""
