"""What a chat model is given to sum up, and which of its answers are summaries. Pure."""

from collections.abc import Sequence

from context.archives.placeholders import folded
from context.assembly.fence import disarmed
from context.assembly.messages import Message, words_of
from context.summaries.extractive import LEAST, MOST
from kmapp.prompt_injection import detect_flags
from kmapp.text import tokens
from kmapp.text.terms import chinese_share
from memory.extraction.conversation import Message as Said
from memory.extraction.conversation import render_transcript
from memory.extraction.prompt_echo import repeats_prompt
from memory.extraction.response_schema import InvalidResponse, ResponseModel, parse_one

READ = 24_000  # characters of a text that a model is given
PIECES = 12
MESSAGE = 2_000  # characters of one message
GAP = "\n…\n"
APART = 0.5  # between the shares of Chinese in a text and in its summary
# A summary that speaks to the model instead of saying what a text holds.
HOSTILE = frozenset({"instructions", "role_markup", "tool_call", "tag_characters"})
FORM = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}


class Summary(ResponseModel):
    """What a model answers."""

    summary: str


def excerpt(text: str) -> str:
    """The text, or as much of it as a model is given: evenly, with its beginning and its end."""
    if len(text) <= READ:
        return text
    size = READ // PIECES
    starts = (at * (len(text) - size) // (PIECES - 1) for at in range(PIECES))
    return GAP.join(text[start : start + size] for start in starts)


def conversation(messages: Sequence[Message]) -> str:
    """What was said, each message and the whole no longer than a model is given."""
    said = [Said(role=each["role"], text=folded(words_of(each), MESSAGE)) for each in messages]
    return excerpt(render_transcript([each for each in said if each.text.strip()]))


def of_result(raw: str, prompt: str, source: str) -> str:
    """The summary of a tool's result. Raises Unusable."""
    told = " ".join(_summary(raw, prompt, source).split())
    if not LEAST <= len(told) <= MOST:
        raise InvalidResponse(f"the summary has {len(told)} characters, not {LEAST} to {MOST}")
    return told


def of_conversation(raw: str, prompt: str, source: str, most: int) -> str:
    """The summary of a conversation, of at most that many tokens. Raises Unusable."""
    told = disarmed(_summary(raw, prompt, source))
    if not 0 < (size := tokens.count(told)) <= most:
        raise InvalidResponse(f"the summary has {size} tokens, not 1 to {most}")
    return told


def _summary(raw: str, prompt: str, source: str) -> str:
    told = parse_one(raw, Summary).summary.strip()
    if repeats_prompt(told, prompt, source):
        raise InvalidResponse("it repeats the prompt")
    if HOSTILE & set(detect_flags(told)):
        raise InvalidResponse("it speaks to its reader instead of summing up")
    if abs(chinese_share(told) - chinese_share(source)) > APART:
        raise InvalidResponse("it is not in the language of what it sums up")
    return told
