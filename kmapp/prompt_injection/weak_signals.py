"""Weak signals: ordinary words that memories seldom combine unless they address a model.

Three groups of words in one text, one of them an order or an address, are suspicious.
"""

from kmapp.prompt_injection.keyword_pattern import compile_lines, read_table

_LEAST_GROUPS = 3
_LONGEST = 600  # characters; in a longer text three groups occur by chance

_EXPRESSIONS = {
    name: compile_lines(expression, {})
    for name, expression in read_table("weak_signals.toml").items()
}


def has_weak_signals(lower: str) -> bool:
    """Return whether a folded text in lower case combines enough groups of words."""
    if len(lower) > _LONGEST:
        return False
    groups = {name for name, expression in _EXPRESSIONS.items() if expression.search(lower)}
    addressed = groups & {"addresses", "orders"} and groups & {"addresses", "frame", "this_text"}
    about_models = groups & {"frame", "model", "this_text"}
    return bool(addressed and about_models) and len(groups) >= _LEAST_GROUPS
