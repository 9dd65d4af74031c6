"""The query of a call: what the caller sends, or the last message of the user."""

from kmapp.accounts.models import Account
from tests.context.builders import call

LIMIT = 4_000
QUESTION = "Where is the kiln?"
PASTE = "Some text that the user pasted. " * 300


def ask(account: Account, text: str, query: str = "") -> tuple[str, list[object]]:
    """Return the query of a call with this message, and the decisions about it."""
    recorded = call(account, [{"role": "user", "content": text}], query=query)
    decisions = [each for each in recorded.report["decisions"] if each["action"] == "shorten_query"]
    return recorded.assembled.collected.query, decisions


def test_both_ends_of_a_long_message_are_searched_for(acme: Account) -> None:
    text = f"Check this: {PASTE}{QUESTION}"
    query, decisions = ask(acme, text)
    end, beginning = query.split("\n")
    assert end.endswith(QUESTION)
    assert beginning.startswith("Check this:")
    assert decisions == [{"action": "shorten_query", "characters": len(text), "used": LIMIT}]
    assert len(query) == LIMIT


def test_other_queries_are_used_as_they_are(acme: Account) -> None:
    assert ask(acme, PASTE[:LIMIT].strip()) == (PASTE[:LIMIT].strip(), [])
    query = PASTE[: LIMIT - len(QUESTION)] + QUESTION
    assert ask(acme, PASTE, query) == (query, [])
