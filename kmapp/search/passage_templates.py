"""Passages: the texts that are embedded.

The form matters as much as the model: a turn of a conversation with its date and in quotes is found
far more often than the bare text. So the form is a template that belongs to the model.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from kmapp.text.terms import chinese_share

MAX_PART_TOKENS = 400  # one vector of a long text hides single sentences
MAX_PREDECESSOR_TOKENS = 120  # from the end of the predecessor
TEMPLATE_FIELDS = frozenset({"date", "speaker", "title", "kind", "text"})

_FIELD = re.compile(r"\{(\w*)\}")
_PLAIN = re.compile(r"[A-Za-z\s]")
_UNBROKEN = re.compile(r"[!-~]{30,}")  # keys, hashes, base64: many short tokens
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August"]
_MONTHS += ["September", "October", "November", "December"]
_MIN_CHINESE_SHARE = 0.5  # a text with a larger share of Chinese is Chinese


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text to embed, with its metadata. "Ann: hello" already names its speaker."""

    text: str
    date: datetime | None = None
    speaker: str = ""
    title: str = ""
    kind: str = ""

    def fields(self) -> Mapping[str, str]:
        chinese = chinese_share(self.text) > _MIN_CHINESE_SHARE
        named = self.text.startswith(f"{self.speaker}:")
        return {
            "text": self.text,
            "date": format_date(self.date, chinese=chinese) if self.date else "",
            "speaker": "" if named else self.speaker,
            "title": self.title,
            "kind": self.kind,
        }


class Template:
    """A form such as `[{date}] {title}: "{text}"`. A word with an empty field is left out."""

    def __init__(self, source: str) -> None:
        unknown = set(_FIELD.findall(source)) - TEMPLATE_FIELDS
        if unknown or "{text}" not in source:
            raise ValueError(
                f"{source!r}: use {{text}}, and only {', '.join(sorted(TEMPLATE_FIELDS))}."
            )
        self.words = source.split(" ")

    def render(self, passage: Passage) -> str:
        """Return the text for the model. Braces inside a field are not template fields."""
        fields = passage.fields()
        return " ".join(
            _FIELD.sub(lambda field: fields[field[1]], word)
            for word in self.words
            if all(fields[name] for name in _FIELD.findall(word))
        )


def build_indexed_text(passage: Passage) -> str:
    """Return the text whose terms are indexed, with dates, titles and speakers."""
    fields = passage.fields()
    return " ".join(fields[name] for name in ("date", "title", "speaker", "text") if fields[name])


def render_parts(template: Template, passage: Passage) -> list[str]:
    """Return one text to embed for each part of the passage, each with the other fields."""
    return [template.render(replace(passage, text=part)) for part in split_text(passage.text)]


def render_with_predecessor(template: Template, passage: Passage, predecessor: str) -> str:
    """Return the passage together with its predecessor, because an answer needs its question.

    It is one text with one vector: the first part of a long passage, the last of a predecessor.
    """
    lead = split_text(predecessor, limit=MAX_PREDECESSOR_TOKENS)[-1]
    body = split_text(passage.text, limit=MAX_PART_TOKENS - MAX_PREDECESSOR_TOKENS)[0]
    return template.render(replace(passage, text=f"{lead}\n{body}"))


def split_text(text: str, *, limit: int = MAX_PART_TOKENS) -> list[str]:
    """Return the text split at paragraphs and sentences into parts of similar size."""
    if len(text) <= limit or (tokens := estimate_tokens(text)) <= limit:
        return [text]
    from semantic_text_splitter import TextSplitter  # noqa: PLC0415  only long text needs it

    part_size = math.ceil(tokens / math.ceil(tokens / limit))
    capacity = min(limit, round(part_size * 1.15))  # slack, so that fewer sentences are split
    return TextSplitter.from_callback(estimate_tokens, capacity).chunks(text) or [text]


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens of an XLM-R tokenizer, seldom too low.

    Measured on English, Chinese, Japanese, Korean, code, JSON and base64.
    """
    plain = len(_PLAIN.findall(text))
    unbroken = sum(map(len, _UNBROKEN.findall(text)))
    return math.ceil(0.28 * plain + 0.8 * (len(text) - plain) + 0.45 * unbroken)


def format_date(date: datetime, *, chinese: bool) -> str:
    if chinese:
        return f"{date.year}年{date.month}月{date.day}日"
    return f"{_DAYS[date.weekday()]}, {_MONTHS[date.month - 1]} {date.day}, {date.year}"
