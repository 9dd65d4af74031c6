"""What happens to rules. Every change is a commit."""
