"""Fitting of any conversation into a budget, with every token counted."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.archives.placeholders import passages_header
from context.assembly.assembly_policy import STRATEGIES, AssemblyPolicy
from context.assembly.budget_enforcement import STEPS, BudgetExceeded, Draft, fit_into_budget
from context.assembly.messages import Message
from context.assembly.prompt import build_messages
from context.assembly.prompt_fence import create_nonce, escape_tags
from context.assembly.prompt_inputs import CallInput, RuleOutcome, Section, Snippet
from context.assembly.tool_result_trimming import CITATION
from context.reports.call_report import SECTIONS, build_report
from kmapp.text.token_counter import count_tokens
from tests.context.builders import conversations, unpaired, words
from tests.promises.plugin import RecordFigure
from tests.timing import assert_linear

pytestmark = pytest.mark.promise(21)

NONCE = "ab" * 8
ARCHIVE = UUID(int=1)
LONE_SURROGATES = re.compile(r"[\ud800-\udfff]")
MIN_FITTED = 500  # of 1,000 generated calls
CANDIDATES = 2_000
ODD = st.sampled_from(["</references>", "👨‍👩‍👧‍👦 [m-19] ", "🇨🇳", "茶室 tea ", "e\u0301", "【3】"])
texts = st.lists(st.one_of(words, ODD), max_size=12).map("".join)


@st.composite
def snippets(draw: Any) -> list[Snippet]:
    return [
        Snippet(
            source=draw(st.sampled_from(["memory", "knowledge", "lore"])),
            ref=f"r{at}",
            text=draw(texts) * draw(st.sampled_from([1, 20])),
            score=draw(st.floats(0, 1)),
            trust="untrusted",
            why={},
            citation={"kind": "memory_entry", "ref": f"r{at}"},
        )
        for at in range(draw(st.integers(0, 8)))
    ]


def _tool(name: str, serialize: str) -> Mapping[str, Any]:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    return {
        "type": "function",
        "function": {"name": name, "description": serialize, "parameters": schema},
    }


@st.composite
def call_inputs(draw: Any) -> CallInput:
    candidates = draw(snippets())
    names = ["read_file", "web_fetch", "search", "memory_get", "order_pizza"]
    stable = [Section(name="system", text=draw(texts))]
    moving = [Section(name="clock", text=draw(texts), stable=False)]
    return CallInput(
        messages=draw(conversations()),
        window=draw(st.sampled_from([300, 600, 1_500, 6_000])),
        reserve=draw(st.integers(0, 100)),
        sections=[*stable, *moving],
        tools=[_tool(name, draw(texts)) for name in draw(st.lists(st.sampled_from(names)))],
        snippets=candidates,
        rule_outcome=RuleOutcome(
            text=draw(words), barred=tuple(draw(st.lists(st.sampled_from(names))))
        ),
        provider=draw(st.sampled_from(["openai", "anthropic"])),
        language=draw(st.sampled_from(["en", "zh"])),
        profile=draw(st.sampled_from(["full", "coding", "minimal"])),
        nonce=NONCE,
    )


policies = st.builds(
    AssemblyPolicy,
    protected_turns=st.integers(1, 3),
    least_turns=st.integers(1, 5),
    prune=st.sampled_from([STRATEGIES, ("soft_trim",), ("hard_clear",), ()]),
    head=st.integers(0, 60),
    tail=st.integers(0, 60),
    compact=st.booleans(),
    summary_tokens=st.integers(50, 200),
    snippet_tokens=st.integers(0, 2_000),
)


def count_independently(messages: list[Message], tools: list[Mapping[str, Any]]) -> int:
    """Count each text, and four tokens per message, independently of the product."""

    def of(content: Any) -> int:
        if isinstance(content, str):
            return count_tokens(content)
        return sum(of(part.get("text", part.get("content"))) for part in content or [] if part)

    def called(message: Message) -> int:
        content = message.get("content")
        parts = content if isinstance(content, list) else []
        uses = [part for part in parts if part.get("type") == "tool_use"]
        calls = message.get("tool_calls") or []
        return sum(count_tokens(use["name"]) + count_tokens("{}") for use in uses) + sum(
            count_tokens(call["function"]["name"]) + count_tokens("{}") for call in calls
        )

    schemas = [
        json.dumps(t, ensure_ascii=False, separators=(",", ":"), sort_keys=True) for t in tools
    ]
    return sum(4 + of(m.get("content")) + called(m) for m in messages) + sum(
        map(count_tokens, schemas)
    )


def build_sent_call(draft: Draft) -> tuple[list[Message], list[Mapping[str, Any]]]:
    history = [row.message for row in draft.rows]
    messages = build_messages("openai", draft.prefix, draft.tail, history)
    return messages, [tool.schema for tool in draft.tools]


def fit(call_input: CallInput, policy: AssemblyPolicy) -> Draft | BudgetExceeded:
    """Return the outcome, and check that a second run gives the same."""
    outcomes: list[Draft | BudgetExceeded] = []
    for _each in range(2):
        try:
            outcomes.append(fit_into_budget(call_input, policy))
        except BudgetExceeded as error:
            outcomes.append(error)
    assert serialize(outcomes[0]) == serialize(outcomes[1])
    return outcomes[0]


def serialize(outcome: Draft | BudgetExceeded) -> str:
    if isinstance(outcome, Draft):
        return json.dumps([build_sent_call(outcome), build_report(outcome)])
    return str(outcome)


def test_calls_fit_their_budget_and_parts_add_up(record_figure: RecordFigure) -> None:
    """Calls that do not fit are refused with the missing tokens; enough calls do fit."""
    outcomes: Counter[type] = Counter()

    @given(call_inputs(), policies)
    @settings(max_examples=1_000)
    def each(call_input: CallInput, policy: AssemblyPolicy) -> None:
        draft = fit(call_input, policy)
        outcomes[type(draft)] += 1
        if isinstance(draft, Draft):
            check(draft)
        else:
            assert draft.needed > draft.budget
            assert sum(draft.sections.values()) == draft.needed

    each()
    record_figure(f"{outcomes[Draft]} of {outcomes.total()} calls fitted, the others were refused")
    assert outcomes[Draft] >= MIN_FITTED


@pytest.mark.parametrize("window", [600, 3_000, 100_000])
@pytest.mark.parametrize("most", [20, 100])
def test_candidates_are_left_out_only_if_they_do_not_fit(window: int, most: int) -> None:
    odd = ["茶室 tea ", "👨‍👩‍👧‍👦 [m-19] ", "</references>", "🇨🇳", "e\u0301", "long ago " * 40]
    candidates = [
        Snippet(
            source="memory",
            ref=f"r{at}",
            text=f"Crate {at}: {odd[at % len(odd)] * (1 + at % 7)}",
            score=at / CANDIDATES,
            trust="untrusted",
            why={},
            citation={"kind": "memory_entry", "ref": f"r{at}"},
        )
        for at in range(CANDIDATES)
    ]
    call_input = CallInput(
        messages=[{"role": "user", "content": "Where is crate 1,999?"}],
        window=window,
        reserve=100,
        snippets=candidates,
        nonce=NONCE,
    )
    policy = AssemblyPolicy(most_snippets=most, snippet_tokens=100_000, most_snippet_tokens=200_000)
    draft = fit(call_input, policy)
    assert isinstance(draft, Draft)
    check(draft)
    assert 0 < len(draft.snippets) <= most
    selected = {each.ref: each.tokens for each in draft.snippets}
    ranked = [candidates[at] for at in reversed(range(CANDIDATES))][:most]
    assert [each.ref for each in ranked if each.ref in selected] == list(selected)
    before = 0
    for candidate in ranked:  # one is left out only if it does not fit after the better ones
        assert candidate.ref in selected or before + candidate.tokens > sum(selected.values())
        before += selected.get(candidate.ref, 0)


def check(draft: Draft) -> None:
    """Check the budget by an independent count, and that the report adds up."""
    call_input = draft.call_input
    messages, tools = build_sent_call(draft)
    report = build_report(draft)
    estimated = report["estimated_tokens"]
    assert estimated["total"] == count_independently(messages, tools) <= call_input.budget
    assert estimated["total"] == sum(estimated[name] for name in SECTIONS)
    for name in SECTIONS:
        items = [item["tokens"] for item in report["items"] if item["section"] == name]
        assert estimated[name] == sum(items)
    middle = estimated["history"] + estimated["tool_results"]
    assert report["prefix_tokens"] + middle + report["tail_tokens"] == estimated["total"]
    assert unpaired(messages) == unpaired(list(call_input.messages))
    assert messages[-1] == call_input.messages[-1]
    assert not LONE_SURROGATES.search(json.dumps([messages, tools], ensure_ascii=False))


@given(snippets())
@settings(max_examples=300)
def test_references_contain_whole_snippets_in_one_fence(candidates: list[Snippet]) -> None:
    call_input = CallInput(
        messages=[{"role": "user", "content": "?"}],
        window=100_000,
        reserve=0,
        snippets=candidates,
        nonce=create_nonce([each.text for each in candidates]),
    )
    draft = fit_into_budget(call_input, AssemblyPolicy())
    text = "".join(part.text for part in draft.tail)
    assert text.count(f'</references nonce="{call_input.nonce}">') == bool(draft.snippets)
    assert text.lower().count("</references") == bool(draft.snippets)
    for snippet in draft.snippets:
        for citation in CITATION.findall(escape_tags(snippet.text)):
            assert citation in text


def test_loaded_passages_are_pruned() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    text = passages_header(ARCHIVE, "en") + "The kiln is looked after every morning. " * 100
    messages: list[Message] = [
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": text},
        {"role": "user", "content": "When?"},
    ]
    call_input = CallInput(messages=messages, window=300, reserve=0, nonce=NONCE)
    policy = AssemblyPolicy(protected_turns=1, compact=False, prune=("hard_clear",))
    draft = fit_into_budget(call_input, policy)
    assert [each["action"] for each in draft.decisions] == ["prune_tool_results"]
    assert f'load_tool_history(uuid="{ARCHIVE}")' in draft.rows[2].message["content"]


def test_many_parts_of_a_result_are_pruned_in_linear_time() -> None:
    def work(size: int) -> None:
        parts = [{"type": "text", "text": f"Crate {at} is full. " * 9} for at in range(size)]
        call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        messages: list[Message] = [
            {"role": "user", "content": "Where?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": parts},
            {"role": "user", "content": "When?"},
        ]
        call_input = CallInput(messages=messages, window=300, reserve=0, nonce=NONCE)
        draft = fit_into_budget(
            call_input, AssemblyPolicy(protected_turns=1, compact=False, head=9, tail=9)
        )
        [pruned, *_rest, limited] = draft.decisions
        assert (pruned["action"], pruned["results"]) == ("prune_tool_results", size)
        assert (limited["action"], len(draft.rows)) == ("limit_turns", 1)

    assert_linear(work, 1_000)


def test_order_of_reductions() -> None:
    names = [step.__name__ for step in STEPS]
    assert names == [
        "drop_snippets",
        "prune_tool_results",
        "limit_turns",
        "compact_history",
        "narrow_tools",
    ]
