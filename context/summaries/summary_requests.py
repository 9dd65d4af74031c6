"""Requests for summaries by the chat model, and validation of its responses. Pure."""

from collections.abc import Sequence

from context.archives.placeholders import fold_text
from context.assembly.messages import Message, message_text
from context.assembly.prompt_fence import escape_tags
from context.summaries.extractive import MAX_LENGTH, MIN_LENGTH
from kmapp.security.prompt_injection import detect_flags
from kmapp.text import token_counter
from kmapp.text.terms import chinese_share
from memory.extraction.conversation import Message as ConversationMessage
from memory.extraction.conversation import render_transcript
from memory.extraction.prompt_echo import repeats_prompt
from memory.extraction.response_schema import InvalidResponse, ResponseModel, parse_one

MAX_SOURCE_LENGTH = 24_000  # characters of the text in a request
EXCERPTS = 12
MAX_MESSAGE = 2_000  # characters of one message
GAP = "\n…\n"
MAX_SHARE_DIFFERENCE = 0.5  # of Chinese characters in the text and in its summary
# Flags of a summary that contains instructions to a model.
INJECTION_FLAGS = frozenset({"instructions", "role_markup", "tool_call", "tag_characters"})
RESPONSE_SCHEMA = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}


class SummaryResponse(ResponseModel):
    summary: str


def take_excerpt(text: str) -> str:
    """Return the text, or evenly spaced excerpts that include its start and end."""
    if len(text) <= MAX_SOURCE_LENGTH:
        return text
    size = MAX_SOURCE_LENGTH // EXCERPTS
    starts = (index * (len(text) - size) // (EXCERPTS - 1) for index in range(EXCERPTS))
    return GAP.join(text[start : start + size] for start in starts)


def render_conversation(messages: Sequence[Message]) -> str:
    """Return the transcript, with each message and the whole limited in length."""
    lines = [
        ConversationMessage(
            role=message["role"], text=fold_text(message_text(message), MAX_MESSAGE)
        )
        for message in messages
    ]
    return take_excerpt(render_transcript([message for message in lines if message.text.strip()]))


def parse_result_summary(raw: str, prompt: str, source: str) -> str:
    summary = " ".join(_parse_summary(raw, prompt, source).split())
    if not MIN_LENGTH <= len(summary) <= MAX_LENGTH:
        raise InvalidResponse(
            f"the summary has {len(summary)} characters, not {MIN_LENGTH} to {MAX_LENGTH}"
        )
    return summary


def parse_conversation_summary(raw: str, prompt: str, source: str, max_tokens: int) -> str:
    """Return the summary of a conversation of at most `max_tokens`. Raises InvalidResponse."""
    summary = escape_tags(_parse_summary(raw, prompt, source))
    if not 0 < (size := token_counter.count_tokens(summary)) <= max_tokens:
        raise InvalidResponse(f"the summary has {size} tokens, not 1 to {max_tokens}")
    return summary


def _parse_summary(raw: str, prompt: str, source: str) -> str:
    summary = parse_one(raw, SummaryResponse).summary.strip()
    if repeats_prompt(summary, prompt, source):
        raise InvalidResponse("it repeats the prompt")
    if INJECTION_FLAGS & set(detect_flags(summary)):
        raise InvalidResponse("it contains instructions instead of a summary")
    if abs(chinese_share(summary) - chinese_share(source)) > MAX_SHARE_DIFFERENCE:
        raise InvalidResponse("it is not in the language of the text")
    return summary
