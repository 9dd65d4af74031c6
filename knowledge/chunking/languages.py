"""Programming languages whose texts are split at definitions."""

from collections.abc import Callable
from functools import cache
from importlib import import_module

# The grammar of each language: its module, and the function that gives it.
GRAMMARS = {
    "c": ("tree_sitter_c", "language"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "python": ("tree_sitter_python", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
}


@cache
def splitter_for(language: str, capacity: int) -> Callable[[str], list[tuple[int, str]]] | None:
    """Cuts texts of this language; None where we have no grammar of it."""
    if language not in GRAMMARS:
        return None
    from semantic_text_splitter import CodeSplitter  # noqa: PLC0415  only code needs it

    module, function = GRAMMARS[language]
    grammar = getattr(import_module(module), function)()
    return CodeSplitter(grammar, capacity, trim=False).chunk_indices
