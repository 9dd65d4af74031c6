"""Retrieved texts that do not fit: excerpts, and numbers instead of IDs."""

from typing import Any
from uuid import UUID

from context.assembly.assembly_policy import AssemblyPolicy
from context.assembly.budget_enforcement import fit_into_budget
from context.assembly.prompt_inputs import CallInput, Snippet
from context.reports.call_report import build_report

NONCE = "ab" * 7


def snippet(at: int, text: str, score: float, **more: Any) -> Snippet:
    ref = {"ref": f"r{at}"}
    values: dict[str, Any] = {"source": "memory", **ref, "trust": "trusted", "why": {}, **more}
    citation = {"kind": "memory_entry", **ref}
    return Snippet(text=text, score=score, citation=citation, **values)


def test_numbers_replace_ids_if_the_policy_says_so() -> None:
    ids = [str(UUID(int=at * 0x0190A7B3C9D41E2F708153)) for at in range(3)]
    candidates = [
        snippet(at, f"Crate {at} has {at} copper kettles.", at / 10, ref=ids[at]) for at in range(3)
    ]
    message = {"role": "user", "content": "How many kettles?"}
    call_input = CallInput(
        messages=[message], window=1_000, reserve=100, snippets=candidates, nonce=NONCE
    )
    whole_ids, numbered = (
        fit_into_budget(call_input, AssemblyPolicy(short_ids=value)) for value in (False, True)
    )
    assert numbered.total < whole_ids.total - 3 * 15
    [part] = numbered.tail
    assert part.text.index('id="1"') < part.text.index("Crate 2") < part.text.index('id="2"')
    citations = build_report(numbered)["citations"]
    assert [(each["label"], each["ref"]) for each in citations] == [
        ("1", "r2"),
        ("2", "r1"),
        ("3", "r0"),
    ]
    assert "label" not in build_report(whole_ids)["citations"][0]


def test_numbers_of_retrieved_texts_have_no_gaps() -> None:
    texts = ["Crate 0 has 2 kettles.", "kettles " * 300, "Crate 2 has 4 kettles."]
    candidates = [snippet(at, text, 1 - at / 10) for at, text in enumerate(texts)]
    message = {"role": "user", "content": "How many kettles?"}
    call_input = CallInput(
        messages=[message], window=5_000, reserve=100, snippets=candidates, nonce=NONCE
    )
    draft = fit_into_budget(call_input, AssemblyPolicy(short_ids=True, snippet_tokens=90))
    assert [(each.label, each.ref) for each in draft.snippets] == [("1", "r0"), ("2", "r2")]


def test_texts_are_shortened_before_any_is_left_out() -> None:
    def candidate(at: int) -> Snippet:
        filler = " ".join(f"Shelf {at}{n} of the barn holds old rope and dust." for n in range(30))
        text = f"{filler} Crate {at} has {at} copper kettles. {filler}"
        return snippet(at, text, 1 - at / 10, source="knowledge")

    candidates = [candidate(at) for at in range(5)]
    limit = 1_200
    assert sum(each.tokens for each in candidates) > 2 * limit
    call_input = CallInput(
        messages=[{"role": "user", "content": "How many kettles are in the crate?"}],
        window=10_000,
        reserve=100,
        snippets=candidates,
        query="How many kettles are in the crate?",
        nonce=NONCE,
    )
    draft = fit_into_budget(call_input, AssemblyPolicy(snippet_tokens=limit))
    assert [each.ref for each in draft.snippets] == [each.ref for each in candidates]
    assert all(f"Crate {at} has" in each.text for at, each in enumerate(draft.snippets))
    assert draft.snippets[-1].is_excerpt
    assert sum(each.tokens for each in draft.snippets) <= limit
    [decision] = draft.decisions
    assert (decision["action"], decision["kept"]) == ("limit_snippets", 5)
    assert decision["shortened"] >= 1
    whole_call = fit_into_budget(call_input, AssemblyPolicy(snippet_tokens=10_000))
    assert not any(each.is_excerpt for each in whole_call.snippets)
