"""Placeholders in conversations, which are restored to the exact original text."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from context.actions.prepare_messages import Preparation, prepare_messages, restore_placeholders
from context.actions.settings import change_settings
from context.archives.placeholder_swap import find_references
from context.models.archives import ArchiveScope
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from tests.context.messages_made import conversations, unpaired

pytestmark = pytest.mark.django_db
WITHIN = ArchiveScope(conversation_id="c1")
THRESHOLD = 300
NUMBERS = [300, pytest.param(1_000, marks=pytest.mark.long)]  # of examples
# Known from the first example that has them on, as in a conversation that goes on.
FIRST = ("a", "窑", "k", "")
RESULTS = [(f"{word} 茶 tea 👨‍👩‍👧 " * 30)[: 290 + 40 * at] for at, word in enumerate(FIRST)]


def filled(messages: list[dict[str, Any]], texts: list[str]) -> list[dict[str, Any]]:
    """The conversation with these texts as what its tools returned, in turn."""
    said = iter(texts)

    def put(content: Any) -> Any:
        text = next(said, "short")
        return text if isinstance(content, str) else [{"type": "text", "text": text}]

    for message in messages:
        if message["role"] == "tool":
            message["content"] = put(message["content"])
        elif isinstance(message["content"], list):
            for part in message["content"]:
                if part["type"] == "tool_result":
                    part["content"] = put(part["content"])
    return messages


long_talks = st.builds(
    filled, conversations(most=3), st.lists(st.sampled_from([*RESULTS, "short"]), max_size=12)
)


@pytest.fixture
def account(acme: Account) -> Account:
    with acting(acme):
        change_settings(acme.pk, {"archive_threshold": THRESHOLD}, actor=SYSTEM)
    return acme


def asked(keep_turns: int, kept: Sequence[UUID] = ()) -> Preparation:
    return Preparation(within=WITHIN, keep_turns=keep_turns, load_uuids=kept)


@pytest.mark.parametrize("number", NUMBERS)
def test_there_and_back(account: Account, number: int) -> None:
    @given(long_talks, st.integers(0, 2))
    @examples(max_examples=number, database=None)
    def each(messages: list[dict[str, Any]], keep_turns: int) -> None:
        check(account, messages, keep_turns)

    each()


def check(account: Account, messages: list[dict[str, Any]], keep_turns: int) -> None:
    short = prepare_messages(account.pk, SYSTEM, messages, asked(keep_turns)).messages
    assert unpaired(short) == unpaired(messages)
    kept = list(find_references(short))
    whole = (
        prepare_messages(account.pk, SYSTEM, short, asked(keep_turns, kept)).messages
        if kept
        else short
    )
    assert whole == messages
    with acting(account):  # everything that was ever kept is a placeholder, wherever it stands
        placeholders = restore_placeholders(account.pk, whole, WITHIN).messages
    if placeholders != short:
        kept = list(find_references(placeholders))
        whole = prepare_messages(account.pk, SYSTEM, placeholders, asked(keep_turns, kept)).messages
        assert whole == messages
    with acting(account):
        assert restore_placeholders(account.pk, placeholders, WITHIN).messages == placeholders
