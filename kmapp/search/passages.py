"""Passages: the texts that are embedded.

The form matters as much as the model: with its date and in quotes, a turn of a conversation is
found far more often than bare. So the form is a template and belongs to the model.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from kmapp.text.terms import chinese_share

PART_TOKENS = 400  # one vector for a long text hides what a single sentence says
BEFORE_TOKENS = 120  # of the predecessor, its end: what this entry is an answer to
FIELDS = frozenset({"date", "speaker", "title", "kind", "text"})

_FIELD = re.compile(r"\{(\w*)\}")
_PLAIN = re.compile(r"[A-Za-z\s]")
_UNBROKEN = re.compile(r"[!-~]{30,}")  # keys, hashes, base64: tokenizers know none of it
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August"]
_MONTHS += ["September", "October", "November", "December"]
_MOSTLY = 0.5  # share of Chinese from which a text is called Chinese


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What is known of a text when it is embedded. "Ann: hello" already names its speaker."""

    text: str
    date: datetime | None = None
    speaker: str = ""
    title: str = ""
    kind: str = ""

    def fields(self) -> Mapping[str, str]:
        """Return the passage's fields for a template."""
        chinese = chinese_share(self.text) > _MOSTLY
        named = self.text.startswith(f"{self.speaker}:")
        return {
            "text": self.text,
            "date": spelled_out(self.date, chinese=chinese) if self.date else "",
            "speaker": "" if named else self.speaker,
            "title": self.title,
            "kind": self.kind,
        }


class Template:
    """A form such as `[{date}] {title}: "{text}"`: words with a space between them.

    A word whose field is absent is left out.
    """

    def __init__(self, source: str) -> None:
        unknown = set(_FIELD.findall(source)) - FIELDS
        if unknown or "{text}" not in source:
            raise ValueError(f"{source!r}: write {{text}}, and only {', '.join(sorted(FIELDS))}.")
        self.words = source.split(" ")

    def render(self, passage: Passage) -> str:
        """Return the text for the model. Braces inside a field are not template fields."""
        fields = passage.fields()
        return " ".join(
            _FIELD.sub(lambda field: fields[field[1]], word)
            for word in self.words
            if all(fields[name] for name in _FIELD.findall(word))
        )


def words_of(passage: Passage) -> str:
    """Return the text whose terms are indexed, with dates, titles and speakers."""
    fields = passage.fields()
    return " ".join(fields[name] for name in ("date", "title", "speaker", "text") if fields[name])


def renderings(template: Template, passage: Passage) -> list[str]:
    """One text to embed for each part of the passage; every part carries the other fields."""
    return [template.render(replace(passage, text=part)) for part in parts(passage.text)]


def in_context(template: Template, passage: Passage, before: str) -> str:
    """Return the passage together with its predecessor in the run.

    "Yes, in May" means something only after its question. One text, so one vector: of a long
    passage its first part, of a long predecessor its last.
    """
    lead = parts(before, limit=BEFORE_TOKENS)[-1]
    body = parts(passage.text, limit=PART_TOKENS - BEFORE_TOKENS)[0]
    return template.render(replace(passage, text=f"{lead}\n{body}"))


def parts(text: str, *, limit: int = PART_TOKENS) -> list[str]:
    """Return the text split at paragraphs and sentences into parts of similar size."""
    if len(text) <= limit or (tokens := token_estimate(text)) <= limit:
        return [text]
    from semantic_text_splitter import TextSplitter  # noqa: PLC0415  only long text needs it

    even = math.ceil(tokens / math.ceil(tokens / limit))
    capacity = min(limit, round(even * 1.15))  # slack, so that a sentence need not be cut
    return TextSplitter.from_callback(token_estimate, capacity).chunks(text) or [text]


def token_estimate(text: str) -> int:
    """About how many tokens an XLM-R tokenizer makes of a text, seldom fewer than it does.

    Measured on English, Chinese, Japanese, Korean, code, JSON and base64.
    """
    plain = len(_PLAIN.findall(text))
    unbroken = sum(map(len, _UNBROKEN.findall(text)))
    return math.ceil(0.28 * plain + 0.8 * (len(text) - plain) + 0.45 * unbroken)


def spelled_out(date: datetime, *, chinese: bool) -> str:
    """Return a date in the words that people use in queries."""
    if chinese:
        return f"{date.year}年{date.month}月{date.day}日"
    return f"{_DAYS[date.weekday()]}, {_MONTHS[date.month - 1]} {date.day}, {date.year}"
