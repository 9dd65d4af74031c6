"""Personal data and credentials are redacted in any notation; other numbers are not."""

import random
import re
from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from string import ascii_uppercase
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import iban, numdb

from kmapp.security.pii import KINDS, PiiMatch, find_pii, redact, redact_json
from kmapp.security.pii.ibans import find_ibans
from kmapp.security.pii.identifiers import is_luhn_valid, is_resident_id
from tests.hostile import STORED
from tests.pii_corpus import MARKED_SAMPLES, UNMARKED_TEXTS
from tests.timing import assert_linear

MARKED = [(kind, text) for kind, texts in MARKED_SAMPLES.items() for text in texts]


def test_finds_exactly_the_marked_part() -> None:
    for kind, marked in MARKED:
        before, secret, after = re.split("[«»]", marked)
        text = before + secret + after
        assert find_pii(text) == [PiiMatch(kind, len(before), len(before) + len(secret))], text
        assert redact(text)[0] == f"{before}[{kind}]{after}", text


def test_leaves_other_numbers() -> None:
    assert [text for text in UNMARKED_TEXTS if redact(text) != (text, [])] == []


def test_case_of_key_words_does_not_matter() -> None:
    for word in ("pın", "pİn", "PIN", "PWD", "paſſword", "PASSWORD"):
        assert redact(f"My {word}: 47110")[0] == f"My {word}: [secret]"


def test_maps_findings_to_full_width_text() -> None:
    text = "１３８００１３８０００ 和 ｋｉｍ＠ｅｘａｍｐｌｅ．ｃｏｍ"
    assert redact(text)[0] == "[phone] 和 [email]"
    assert redact("㏒ ﷺ 13800138000 ㎏")[0] == "㏒ ﷺ [phone] ㎏"  # characters that fold to many


def test_redacts_only_requested_kinds() -> None:
    text = "13800138000, kim@example.com, 4294199682550949"
    assert redact(text, ["email"])[0] == "13800138000, [email], 4294199682550949"
    assert redact(text, [])[0] == text
    assert redact("13800138000@example.com", ["phone"])[0] == "[phone]@example.com"
    assert redact("13800138000@example.com")[0] == "[email]"


# --- recall over generated formats ---------------------------------------------------------------

rng = random.Random(20260102)  # noqa: S311
CONTEXTS = [
    *("{}", "我的号码是{}。", "call {} now", "({})", "a: {}, b", "电话{}谢谢", "\t{}\n", "“{}”"),
    *("{}；", "at 10:30 on 2024-01-05: {}", "订单已发，联系{}", "see {} / ask Kim", "【{}】"),
    "v1.2.3 {} ok",
]


def full_width(text: str) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if char.isalnum() else char for char in text)


def unchanged(text: str) -> str:
    return text


def random_digits(count: int) -> str:
    return "".join(rng.choice("0123456789") for _ in range(count))


MOBILE_FORMS = [
    *("{a}{b}{c}", "{a} {b} {c}", "{a}-{b}-{c}", "{a}.{b}.{c}", "{a} - {b} - {c}", "{a}_{b}_{c}"),
    *("+86 {a}{b}{c}", "+86{a}{b}{c}", "+86-{a}-{b}-{c}", "(+86){a}{b}{c}", "+86 ({a}) {b} {c}"),
    *("0086{a}{b}{c}", "86-{a}{b}{c}", "{a}\u00a0{b}\u00a0{c}", "{a}–{b}–{c}"),
]


def mobile() -> str:
    number = f"1{rng.randint(3, 9)}{random_digits(9)}"
    a, b, c = number[:3], number[3:7], number[7:]
    form = rng.choice(MOBILE_FORMS)
    return form.format(a=a, b=b, c=c)


def card() -> str:
    prefix, length = rng.choice(
        [("4", 16), ("51", 16), ("55", 16), ("62", 16), ("62", 19), ("6011", 16), ("37", 15),
         ("3530", 16), ("2221", 16), ("9558", 19)]
    )  # fmt: skip
    body = prefix + random_digits(length - len(prefix) - 1)
    number = next(body + digit for digit in "0123456789" if is_luhn_valid(body + digit))
    gap = rng.choice(["", " ", "-"])
    return gap.join(number[i : i + 4] for i in range(0, length, 4))


def resident_id() -> str:
    body = f"{rng.choice([11, 31, 44, 51, 65])}{random_digits(4)}{rng.randint(1930, 2020)}"
    body += f"{rng.randint(1, 12):02}{rng.randint(1, 28):02}{random_digits(3)}"
    number = next(body + char for char in "0123456789X" if is_resident_id(body + char))
    return rng.choice([number, number.lower(), f"{number[:6]} {number[6:14]} {number[14:]}"])


def email() -> str:
    name = rng.choice(["kim", "m.holt", "li_wei", "a1", "j-p", "o'neil", "wang+tag", "20240105"])
    host = rng.choice(["example.com", "mail.example.co.uk", "example.com.cn", "x-y.example.org"])
    return rng.choice(["{}@{}", "{}[at]{}", "{} (at) {}", "{}＠{}"]).format(name, host)


def api_key() -> str:
    body = "".join(rng.choices("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", k=36))
    return rng.choice(["sk-{}", "ghp_{}", "km_a1b2c3d4_{}", "xoxb-{}", "api_key={}"]).format(body)


@pytest.mark.promise(39)
@pytest.mark.parametrize("make", [mobile, card, resident_id, email, api_key])
def test_finds_at_least_95_percent_in_generated_formats(make: Callable[[], str]) -> None:
    missed = []
    for context in CONTEXTS * 20:
        value = rng.choice([unchanged, unchanged, full_width])(make())
        text = context.format(value)
        remaining = re.sub(r"\W", "", redact(text)[0])
        if re.sub(r"\W", "", value)[-8:] in remaining:
            missed.append(text)
    assert len(missed) <= 0.05 * 20 * len(CONTEXTS), missed


def test_redacts_at_most_one_percent_of_other_numbers() -> None:
    def timestamp() -> str:
        day = f"{rng.randint(2000, 2030)}{rng.randint(1, 12):02}{rng.randint(1, 28):02}"
        return day + random_digits(6)

    makers: list[Callable[[], str]] = [
        timestamp,
        lambda: str(rng.randint(1_500_000_000, 1_899_999_999)),
        lambda: str(rng.randint(1_500_000_000_000, 1_899_999_999_999)),
        lambda: str(rng.randint(10**17, 2 * 10**18 - 1)),  # snowflakes
        lambda: f"订单号：{rng.randint(10**15, 10**17)}",
        lambda: f"order #{rng.randint(10**10, 10**17)}",
        lambda: ".".join(str(rng.randint(0, 255)) for _ in range(4)),
        lambda: f"v{rng.randint(0, 20)}.{rng.randint(0, 99)}.{rng.randint(0, 9999)}",
        lambda: str(rng.random() * 10),
        lambda: f"¥{rng.randint(10**3, 10**8):,}.{random_digits(2)}",
        lambda: f"{rng.getrandbits(128):032x}",
        lambda: f"{rng.getrandbits(256):064x}",
        lambda: re.sub(
            "(.{8})(.{4})(.{4})(.{4})(.{12})", r"\1-\2-\3-\4-\5", f"{rng.getrandbits(128):032x}"
        ),
    ]
    texts = [f"a {make()} b" for make in makers for _ in range(200)]
    false_matches = [text for text in texts if find_pii(text)]
    assert len(false_matches) <= len(texts) / 100, false_matches


# --- properties ----------------------------------------------------------------------------------

PIECES = (
    [re.sub("[«»]", "", text) for _, text in MARKED]
    + UNMARKED_TEXTS
    + [h.text or "" for h in STORED]
)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=4).map(" ".join))
def test_redaction_is_idempotent(text: str) -> None:
    redacted, findings = redact(text)
    assert redact(redacted)[0] == redacted
    assert all(0 <= each.start < each.end <= len(text) for each in findings)
    assert all(before.end <= after.start for before, after in pairwise(findings))


@given(st.text())
def test_accepts_any_text(text: str) -> None:
    redact(text)


# --- JSON ----------------------------------------------------------------------------------------


def test_redacts_keys_texts_and_numbers_of_json() -> None:
    value = {
        "phoneNumber": "88886666",
        "mobile": 13800138000,
        "card": 4294199682550949,
        "password": "tulip7",
        "kim@example.com": {"note": "li@example.com"},
        "jo@example.com": ["plain", "x 13800138000", None, True, 1.5],
        "created": 1700000000000,
        "count": 12345678,
    }
    redacted, findings = redact_json(value)
    assert redacted == {
        "phoneNumber": "[phone]",
        "mobile": "[phone]",
        "card": "[card]",
        "password": "[secret]",
        "[email]": {"note": "[email]"},
        "[email] 2": ["plain", "x [phone]", None, True, 1.5],
        "created": 1700000000000,
        "count": 12345678,
    }
    assert len(findings) == 8
    assert {each.kind for each in findings} <= set(KINDS)
    assert redact_json(redacted) == (redacted, [])


def test_redacts_in_json_what_it_redacts_in_text() -> None:
    text = "4111 1111 1111 1111.13812345678"
    assert redact(text)[0] == "[card].[phone]"
    assert redact_json({"memo": text})[0] == {"memo": "[card].[phone]"}
    assert redact_json({"mobile": 13800138000.0})[0] == {"mobile": "[phone]"}
    in_key = {"-----BEGIN PRIVATE KEY----- Type": "DEK"}
    assert redact_json(in_key)[0] == {"[secret]": "[secret]"}, "it ends"
    # Split into words, the header of the key has 77 of at most 80 characters; the text adds 3.
    reaching = "-----BEGIN PRIVATE KEY-----a: " + 25 * "aA"
    assert redact_json({reaching: "@@@@@"})[0]["[secret]"].startswith("[secret]"), "it ends"


def test_returns_tuples_as_lists() -> None:
    assert redact_json({"tags": ("kim@example.com", "tea")})[0] == {"tags": ["[email]", "tea"]}


def test_ids_of_tool_calls_are_no_phone_numbers() -> None:
    value = {"call_id": "365174485", "tool_call_id": "365174485"}
    assert redact_json(value) == (value, [])


def test_redacted_key_does_not_overwrite_a_literal_one() -> None:
    value = {"a@example.com": 1, "[email]": 2, "b@example.com": 3}
    assert redact_json(value)[0] == {"[email] 2": 1, "[email]": 2, "[email] 3": 3}


def test_redacts_many_keys_in_linear_time() -> None:
    assert_linear(
        lambda n: redact_json({f"kim{number}@example.com": 1 for number in range(n)}), 4_000
    )


def ibans() -> Iterator[str]:
    """Yield a valid number of every country, from the registry of formats."""
    draw = random.Random(13616)  # noqa: S311
    alphabet = {"n": "0123456789", "a": "ABCDEFGHIJ", "c": "0123456789KLMNOP"}
    for first, second in product(ascii_uppercase, repeat=2):
        country = f"{first}{second}"
        _, properties = numdb.get("iban").info(country)[0]
        parts = re.findall(r"(\d+)!([nac])", properties.get("bban", ""))
        bban = "".join(
            draw.choice(alphabet[kind]) for size, kind in parts for _ in range(int(size))
        )
        if bban:
            yield country + iban.calc_check_digits(f"{country}00{bban}") + bban


@pytest.mark.parametrize("piece", ["AB12 ", "DE89 ", "GB82 WEST ", "DE89\n/ \t"])
def test_check_digits_decide_before_the_library(piece: str) -> None:
    text = piece * (4000 // len(piece))
    with mock.patch("kmapp.security.pii.ibans.iban.is_valid", return_value=False) as is_valid:
        deque(find_ibans(text), maxlen=0)
    assert is_valid.call_count < text.count(piece)  # without this check: 20 for each piece


IBAN_GAPS = (" ", "-", "\t", "\n", "\r\n", " \n  ", "/", " / ")


def test_ibans_of_every_country_are_redacted_whole() -> None:
    numbers = list(ibans())
    assert len(numbers) > 75
    for number in numbers:
        groups = re.findall(".{1,4}", number)
        for written in (number, number.lower(), *(gap.join(groups) for gap in IBAN_GAPS)):
            for context in ("{}", "to {} by noon", "账号{}。", "IBAN:{}, thanks"):
                assert redact(context.format(written))[0] == context.format("[card]"), written
        wrong = number[:2] + f"{(int(number[2:4]) + 1) % 100:02}" + number[4:]
        assert "card" not in {each.kind for each in find_pii(wrong) if each.end - each.start > 19}
