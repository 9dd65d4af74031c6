"""A conversation's older turns in few words: what was asked, and what was answered. Pure."""

from collections.abc import Sequence

from context.archives.placeholders import folded
from context.assembly.fence import disarmed
from context.assembly.messages import Message, turns, words_of
from kmapp.text import tokens

ASKED, ANSWERED = 160, 280  # characters of each
_WORDS = {
    "en": ("Summary of {n} earlier turns of this conversation:", "user", "assistant"),
    "zh": ("此前{n}轮对话的摘要：", "用户", "助手"),
}
_LEFT_OUT = {"en": "(the first {n} are left out)", "zh": "（最早的{n}轮从略）"}


def summarised(messages: Sequence[Message], language: str, most: int) -> str:
    """At most that many tokens; where not all turns find room, the latest do."""
    lines = [_line(messages, turn, language) for turn in turns(messages)]
    head = _WORDS[language][0].format(n=len(lines))
    for first in range(len(lines) + 1):
        left_out = [_LEFT_OUT[language].format(n=first)] if first else []
        text = "\n".join([head, *left_out, *lines[first:]])
        if tokens.count(text) <= most:
            return text
    return head


def _line(messages: Sequence[Message], turn: range, language: str) -> str:
    _head, user, assistant = _WORDS[language]
    asked = " ".join(words_of(messages[at]) for at in turn if messages[at]["role"] == "user")
    answers = [words_of(messages[at]) for at in turn if messages[at]["role"] == "assistant"]
    answered = next((text for text in reversed(answers) if text.strip()), "")
    said = f"- {user}: {folded(asked, ASKED)}"
    if answered:
        said += f" → {assistant}: {folded(answered, ANSWERED)}"
    return disarmed(said)
