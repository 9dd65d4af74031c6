"""Share of facts in long tool results that a load returns, by its limit in tokens.

Generated results of 50,000 characters contain ten facts each. Facts of one form, about different
things, make each other hard to find.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from time import monotonic, sleep

from context.benchmarks.placeholder_scenario import RESULT_LENGTH, Client

BUDGETS = (300, 600, 1_200, 2_400)
RESULTS = 4  # of each language
WAIT_SECONDS = 900  # until all passages have their vectors
DAYS = range(2, 90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    name: str
    subjects: Sequence[str]
    objects: Sequence[str]
    fillers: Sequence[Sequence[str]]  # the parts of a sentence
    fact: str
    question: str


ENGLISH = Language(
    name="en",
    subjects=("the cold store", "the north gate", "the archive", "the loading bay", "the kiln"),
    objects=("backup code", "inspection report", "spare key", "insurance policy"),
    fillers=(
        ("Every morning", "After each request", "At the end of the month", "If in doubt"),
        ("the manager", "an auditor", "the night shift", "a clerk of the warehouse"),
        ("checks", "signs", "copies", "files", "reviews"),
        ("the list of deliveries.", "the forms.", "the time sheets.", "the log of visitors."),
    ),
    fact="The {object} of {subject} is replaced every {days} days.",
    question="How often do they renew the {object} for {subject}?",
)
CHINESE = Language(
    name="zh",
    subjects=("冷库", "北门", "档案室", "装卸区", "窑炉"),
    objects=("备用口令", "检查报告", "备用钥匙", "保险单"),
    fillers=(
        ("每天早上，", "收到请求之后，", "月末结账时，", "出现异常的情况下，"),
        ("值班经理", "审计员", "夜班人员", "仓库职员"),
        ("核对", "签署", "复印", "归档", "复查"),
        ("送货清单。", "申请单。", "考勤表。", "访客记录。"),
    ),
    fact="{subject}的{object}每{days}天更换一次。",
    question="{subject}的{object}多久换一次新的？",
)
FACTS = 10  # of each result, of all combinations of subjects and objects


def build_result(language: Language, seed: int) -> tuple[str, list[tuple[str, str]]]:
    """Return a generated text, and the questions about it with the facts that answer them."""
    random = Random(f"{language.name} {seed}")  # noqa: S311 - the same in every run
    pairs = [(one, other) for one in language.subjects for other in language.objects]
    questions = []
    pieces = []
    for subject, thing in random.sample(pairs, FACTS):
        fact = language.fact.format(subject=subject, object=thing, days=random.choice(DAYS))
        questions.append((language.question.format(subject=subject, object=thing), fact))
        filler = ""
        while len(filler) < RESULT_LENGTH // FACTS - len(fact):
            space = " " if language is ENGLISH else ""
            filler += space.join(random.choice(part) for part in language.fillers)
            filler += "\n" if random.random() < 0.2 else space  # noqa: PLR2004 - a paragraph of five
        pieces += [filler, fact, "\n" if random.random() < 0.5 else " "]  # noqa: PLR2004
    return "".join(pieces), questions


def result_lines(client: Client, conversation: str) -> Iterator[str]:
    """Archive results over the API, wait for their vectors, and yield a table by language."""
    archived: list[tuple[Language, str, list[tuple[str, str]]]] = []
    for language in (ENGLISH, CHINESE):
        for seed in range(RESULTS):
            text, questions = build_result(language, seed)
            body = {"tool_name": "read_file", "conversation_id": conversation, "result": text}
            response = client("POST", "tool-results", body)
            archived.append((language, response["archive"]["uuid"], questions))
    _wait_for_vectors(client)
    yield f"{2 * RESULTS * FACTS} questions"
    yield ""
    yield "| tokens | English | Chinese |"
    yield "| ---: | ---: | ---: |"
    for budget in BUDGETS:
        hits = {"en": 0, "zh": 0}
        for language, pk, questions in archived:
            for question, fact in questions:
                query = {"query": question, "max_tokens": budget}
                hits[language.name] += fact in client("GET", f"tool-results/{pk}", query)["content"]
        shares = " | ".join(f"{hits[name] / (RESULTS * FACTS):.3f}" for name in ("en", "zh"))
        yield f"| {budget:,} | {shares} |"


def _wait_for_vectors(client: Client) -> None:
    until = monotonic() + WAIT_SECONDS
    while client("GET", "health", {})["pending_embeddings"] and monotonic() < until:
        sleep(1)
