"""What context writes: one function, one transaction, one commit."""
