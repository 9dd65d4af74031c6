"""The text of a search: words, "exact phrases" and filters such as kind:fact. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self
from uuid import UUID

from kmapp.database.ids import parse_uuid
from kmapp.text.highlight import Piece, extract_passage, find_matches, split_at_matches
from kmapp.text.terms import extract_terms

TYPE = "type"  # the filter that selects a kind of object
MAX_LENGTH = 300  # characters of a search
MAX_TERMS = 20
_PART = re.compile(
    r'(?P<name>[A-Za-z_]{2,}):(?!//)(?:"(?P<quoted>[^"]*)"|(?P<value>[^\s"]+))'
    r'|"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+)'
)


@dataclass(frozen=True, kw_only=True)
class SiteQuery:
    """A parsed search. `prefix` is the last word, if it may be unfinished."""

    text: str = ""
    words: str = ""
    phrases: Sequence[str] = ()
    filters: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        text = text.replace("\x00", "").strip()[:MAX_LENGTH]
        parts = list(_PART.finditer(text))
        words = [part["word"] for part in parts if part["word"]]
        phrases = [part["phrase"].strip() for part in parts if part["phrase"]]
        filters = {
            part["name"].lower(): (part["quoted"] or part["value"] or "").strip()
            for part in parts
            if part["name"]
        }
        last = parts[-1]["word"] if parts else None
        return cls(
            text=text,
            words=" ".join(words),
            phrases=[phrase for phrase in phrases if phrase],
            filters=filters,
            prefix=last.casefold() if last and last.isascii() and last.isalnum() else "",
        )

    @property
    def is_empty(self) -> bool:
        return not (self.words or self.phrases or self.filters)

    @cached_property
    def terms(self) -> list[str]:
        """Return the distinct terms of the words and phrases."""
        query_terms = extract_terms(" ".join([self.words, *self.phrases]))
        return list(dict.fromkeys(query_terms))[:MAX_TERMS]

    @cached_property
    def required(self) -> list[str]:
        """Return the terms that a match must contain: those of the phrases."""
        return list(dict.fromkeys(extract_terms(" ".join(self.phrases))))[:MAX_TERMS]

    @property
    def plain(self) -> str:
        """Return the words and phrases without quotes, to match names by their parts."""
        return " ".join([self.words, *self.phrases]).strip()

    @cached_property
    def id(self) -> UUID | None:
        """Return the id, if the search is one."""
        return parse_uuid(self.words)

    def has_phrases(self, text: str) -> bool:
        folded = text.casefold()
        return all(phrase.casefold() in folded for phrase in self.phrases)

    def matches_name(self, *names: str) -> bool:
        """Return whether each word begins a word of a name, or is part of a Chinese one."""
        text = " ".join(names).casefold()
        pieces = self.plain.casefold().split()
        return bool(pieces) and all(
            re.search(rf"\b{re.escape(piece)}" if piece.isascii() else re.escape(piece), text)
            for piece in pieces
        )

    def mark(self, text: str) -> list[Piece]:
        return split_at_matches(text, find_matches(text, self._highlighted_terms, self.phrases))

    def passage(self, text: str) -> list[Piece]:
        return extract_passage(text, self._highlighted_terms, self.phrases)

    @property
    def _highlighted_terms(self) -> list[str]:
        return [*self.terms, self.prefix] if self.prefix else self.terms
