"""Extractive summary of older turns: each question and its answer, shortened. Pure."""

from collections.abc import Sequence

from context.archives.placeholders import fold_text
from context.assembly.fence import escape_tags
from context.assembly.messages import Message, message_text, split_turns
from kmapp.text import tokens

QUESTION_LENGTH, ANSWER_LENGTH = 160, 280  # characters
_WORDS = {
    "en": ("Summary of {n} earlier turns of this conversation:", "user", "assistant"),
    "zh": ("此前{n}轮对话的摘要：", "用户", "助手"),
}
_OMITTED = {"en": "(the first {n} are left out)", "zh": "（最早的{n}轮从略）"}


def summarise_turns(messages: Sequence[Message], language: str, most: int) -> str:
    """Return a summary of at most `most` tokens; the latest turns have precedence."""
    lines = [_render_turn(messages, turn, language) for turn in split_turns(messages)]
    head = _WORDS[language][0].format(n=len(lines))
    for first in range(len(lines) + 1):
        omitted = [_OMITTED[language].format(n=first)] if first else []
        text = "\n".join([head, *omitted, *lines[first:]])
        if tokens.count(text) <= most:
            return text
    return head


def _render_turn(messages: Sequence[Message], turn: range, language: str) -> str:
    _head, user, assistant = _WORDS[language]
    question = " ".join(
        message_text(messages[index]) for index in turn if messages[index]["role"] == "user"
    )
    answers = [
        message_text(messages[index]) for index in turn if messages[index]["role"] == "assistant"
    ]
    answer = next((text for text in reversed(answers) if text.strip()), "")
    line = f"- {user}: {fold_text(question, QUESTION_LENGTH)}"
    if answer:
        line += f" → {assistant}: {fold_text(answer, ANSWER_LENGTH)}"
    return escape_tags(line)
