"""Generated texts in two languages, with all line endings and characters of every width."""

from collections.abc import Iterator
from random import Random

SENTENCE = (
    "the harvest of oolong leaves was early this spring and every basket stood in shade "
    "until noon when buyers came up from the valley to taste weigh and argue about price "
    "naïve café"
)
ENGLISH = SENTENCE.split()
CHINESE = "今年春茶采摘很早每一篮都放在阴凉处等到中午山下买家上来品尝称重讨价还价水温时间香气"
ODD = [
    "😀",
    "👩‍🌾",
    "e\u0301",
    "𠮷野家",
    "\t",
    "\u00a0",
    "**bold**",
    "`code`",
    "<b>",
    "&amp;",
    "--",
]
ENDS = ["\n", "\n", "\n", "\r\n"]


def corpus(random: Random, number: int) -> dict[str, str]:
    """Return files of some thousand characters each, by name."""
    return {f"{i:03d}.{random.choice(('md', 'txt', 'py'))}": text(random) for i in range(number)}


def text(random: Random) -> str:
    end = random.choice(ENDS)
    return end.join(_lines(random))


def paragraph(random: Random) -> str:
    """Return a paragraph in English or Chinese that contains an unusual character."""
    if random.random() < 0.5:
        words = [random.choice(ENGLISH) for _ in range(random.randint(20, 120))]
        words.insert(random.randrange(len(words)), random.choice(ODD))
        return " ".join(words) + "."
    sentences = [
        "".join(random.choice(CHINESE) for _ in range(random.randint(8, 30)))
        for _ in range(random.randint(3, 12))
    ]
    return "。".join(sentences) + random.choice(ODD) + "。"


def _lines(random: Random) -> Iterator[str]:
    for section in range(random.randint(2, 8)):
        yield f"{'#' * random.randint(1, 3)} {random.choice(ENGLISH)} {section} {CHINESE[section]}"
        yield ""
        for _ in range(random.randint(1, 6)):
            yield paragraph(random)
            yield ""
