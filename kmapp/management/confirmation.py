"""Confirmation prompts of commands."""


def confirm(question: str) -> bool:
    """Ask once; any answer except yes means no."""
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
