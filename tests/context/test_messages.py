"""Parsing and cutting of message lists."""

import struct
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.assembly import messages as m
from context.assembly.token_counts import MESSAGE_OVERHEAD, count_message
from tests.context.builders import conversations, unpaired

OPENAI: list[m.Message] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "When?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": 1}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "At nine."},
    {"role": "assistant", "content": "At nine."},
    {"role": "user", "content": "Sure?"},
]
ANTHROPIC: list[m.Message] = [
    {"role": "user", "content": [{"type": "text", "text": "When?"}]},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "u1", "name": "look", "input": {}}],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "u1",
                "content": [
                    {"type": "text", "text": "At nine."},
                    {"type": "image", "source": {}},
                    {"type": "text", "text": "Or ten."},
                ],
            }
        ],
    },
    {"role": "assistant", "content": "At nine."},
]


# Arguments whose values PostgreSQL cannot store, or that are no JSON.
UNDECODABLE = [
    '{"q": "\\ud83d"}',
    '{"\\ud83d": 1}',
    '{"q": ["\\u0000"]}',
    "[" * 65 + "]" * 65,
    "[" * 5_000,
    '{"q": ',
]


LONG_NUMBERS = "[9007199254740992, -1e16, 1e999, NaN, -Infinity]"


@pytest.mark.parametrize("arguments", UNDECODABLE)
def test_arguments_that_cannot_be_stored_stay_texts(arguments: str) -> None:
    assert m.ToolCall(id="c1", name="look", arguments=arguments).input == arguments


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ('{"q": "\\ud83c\\udf75", "n": [1.5, -3, 9007199254740991, null, true]}',
         {"q": "🍵", "n": [1.5, -3, 9007199254740991, None, True]}),
        (LONG_NUMBERS, ["9007199254740992", "-1e16", "1e999", "NaN", "-Infinity"]),
        ("[" * 64 + "]" * 64, None),
        ({"q": 1}, {"q": 1}),
        ("", ""),
        (None, None),
    ],
)  # fmt: skip
def test_arguments_are_decoded(arguments: Any, value: Any) -> None:
    decoded = m.ToolCall(id="c1", name="look", arguments=arguments).input
    assert decoded == value or (value is None and isinstance(decoded, list))


def test_both_formats_are_parsed() -> None:
    assert [(slot.index, slot.call_id, slot.text) for slot in m.list_slots(OPENAI)] == [
        (3, "c1", "At nine.")
    ]
    assert [slot.text for slot in m.list_slots(ANTHROPIC)] == ["At nine.", "Or ten."]
    assert m.index_calls(OPENAI)["c1"][0].input == {"q": 1}
    assert m.index_calls(ANTHROPIC)["u1"][0].name == "look"
    assert m.split_turns(OPENAI) == [range(1, 5), range(5, 6)]
    assert m.split_turns(ANTHROPIC) == [range(4)]
    assert (m.uses_anthropic_format(OPENAI), m.uses_anthropic_format(ANTHROPIC)) == (False, True)
    assert [m.message_text(each) for each in ANTHROPIC] == ["When?", "", "", "At nine."]


def test_text_next_to_results_stays_in_the_turn_of_their_calls() -> None:
    call = {"type": "tool_use", "id": "u1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "u1", "content": "At nine."}
    messages: list[m.Message] = [
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result, {"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "text", "text": "And where?"}]},
        {"role": "user", "content": []},
    ]
    assert m.split_turns(messages) == [range(3), range(3, 5)]


def test_fields_that_a_provider_added_are_counted() -> None:
    plain: m.Message = {"role": "assistant", "content": "At nine.", "name": "desk", "refusal": None}
    reasoned = {**plain, "reasoning_content": "tea " * 1_000, "reasoning_details": [{"n": 1}]}
    assert count_message(plain) == count_message({"role": "assistant", "content": "At nine."})
    assert count_message(reasoned) > count_message(plain) + 1_000


PDF = b64encode(b"%PDF-1.7\n" + bytes(120_000)).decode()
AUDIO = b64encode(bytes(60_000)).decode()


def wav(second_bytes: int, size: int, before: bytes = b"") -> dict[str, Any]:
    """Return a part with a WAV file of this size, with a chunk before that of its format."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, second_bytes // 2, second_bytes, 2, 16)
    body = b"WAVE" + before + form + struct.pack("<4sI", b"data", size) + bytes(size)
    file = struct.pack("<4sI", b"RIFF", len(body)) + body
    data = b64encode(file).decode()
    return {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}


PDF_SOURCE = {"type": "base64", "media_type": "application/pdf", "data": PDF}
FILES: dict[str, tuple[dict[str, Any], int]] = {
    "openai_file": (
        {
            "type": "file",
            "file": {"filename": "tea.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
        },
        9_000,
    ),
    "openai_audio": ({"type": "input_audio", "input_audio": {"data": AUDIO, "format": "mp3"}}, 80),
    "wav": (wav(48_000, 91_200), 20),  # 1.9 s
    "wav_with_another_chunk": (wav(48_000, 91_200, struct.pack("<4sI", b"JUNK", 3) + b"abc\0"), 20),
    "wav_without_a_rate": (wav(0, 15_900), 20),
    "responses_file": ({"type": "input_file", "filename": "tea.pdf", "file_data": PDF}, 9_000),
    "anthropic_document": ({"type": "document", "source": PDF_SOURCE}, 9_000),
}


@pytest.mark.parametrize(("part", "tokens"), FILES.values(), ids=FILES)
def test_files_in_base64_are_counted_by_their_size(part: dict[str, Any], tokens: int) -> None:
    result = {"type": "tool_result", "tool_use_id": "u1", "content": [part]}
    for content in ([part], [result]):
        counted = count_message({"role": "user", "content": content})
        assert counted == MESSAGE_OVERHEAD + tokens


def test_documents_of_text_are_counted_as_text() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "tea " * 1_000}
    message = {"role": "user", "content": [{"type": "document", "source": source}]}
    assert count_message(message) > 1_000


def test_only_the_given_slot_is_replaced() -> None:
    slot = m.list_slots(ANTHROPIC)[1]
    changed = m.replace_texts(ANTHROPIC, {(slot.index, slot.path): "gone"})
    assert [each.text for each in m.list_slots(changed)] == ["At nine.", "gone"]
    assert m.list_slots(ANTHROPIC)[1].text == "Or ten."
    assert changed[0] is ANTHROPIC[0]


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ("hello", "messages.0"),
        ({"role": "robot", "content": ""}, "messages.0.role"),
        ({"role": {}, "content": ""}, "messages.0.role"),
        ({"role": "user", "content": 3}, "messages.0.content"),
        ({"role": "user", "content": ["a"]}, "messages.0.content"),
        ({"role": "tool", "content": "x"}, "messages.0.tool_call_id"),
        ({"role": "assistant", "tool_calls": [{}]}, "messages.0.tool_calls.0"),
        ({"role": "assistant", "tool_calls": 3}, "messages.0.tool_calls"),
        (
            {"role": "assistant", "tool_calls": [{"id": 1, "function": {}}]},
            "messages.0.tool_calls.0.id",
        ),
        (
            {"role": "user", "content": [{"type": "tool_result"}]},
            "messages.0.content.0.tool_use_id",
        ),
        (
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "a", "content": [1]}],
            },
            "messages.0.content.0.content",
        ),
        ({"role": "assistant", "content": [{"type": "tool_use"}]}, "messages.0.content.0.id"),
    ],
)
def test_rejects_invalid_messages(message: Any, path: str) -> None:
    with pytest.raises(m.InvalidMessages) as refused:
        m.check_messages([message])
    assert str(refused.value).startswith(f"{path}: ")


@given(conversations())
@settings(max_examples=200)
def test_valid_conversation_is_unchanged(messages: list[dict[str, Any]]) -> None:
    m.check_messages(messages)
    assert unpaired(messages) == []
    assert m.drop_orphans(messages) == messages
    assert [at for turn in m.split_turns(messages) for at in turn] == [
        at for at, each in enumerate(messages) if each["role"] != "system"
    ]


@given(conversations(), st.data())
@settings(max_examples=300)
def test_cut_conversation_has_no_orphans(
    messages: list[dict[str, Any]], data: st.DataObject
) -> None:
    remaining = [each for each in messages if data.draw(st.booleans())]
    sound = m.drop_orphans(remaining)
    assert unpaired(sound) == []
    assert m.drop_orphans(sound) == sound


def test_open_tool_calls_stay() -> None:
    assert m.drop_orphans(OPENAI[:3]) == OPENAI[:3]
    assert [each["role"] for each in m.drop_orphans([*OPENAI[:3], OPENAI[5]])] == [
        "system",
        "user",
        "user",
    ]


def test_repeated_id_of_an_answered_call_answers_no_other() -> None:
    answered = OPENAI[:5]
    for open_call in (OPENAI[2], {**OPENAI[2], "content": "Let me look."}):
        messages = [*answered, OPENAI[5], open_call, {"role": "user", "content": "Well?"}]
        remaining = m.drop_orphans(messages)
        assert unpaired(remaining) == []
        assert remaining[:6] == messages[:6]
    assert m.drop_orphans([*answered, *OPENAI[1:5]]) == [*answered, *OPENAI[1:5]]
