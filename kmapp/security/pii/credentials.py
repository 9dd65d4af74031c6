"""Recognisers of credentials: keys with the prefix of their issuer, passwords, values of "key:"."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from kmapp.text.folding import Span

_CHAR = r"[A-Za-z0-9_-]"
_ISSUED = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    rf"sk-{_CHAR}{{16,}}+"
    rf"|(?:sk|rk|pk)_(?:live|test)_{_CHAR}{{10,}}+"
    rf"|km_[A-Za-z0-9]{{4,16}}_{_CHAR}{{10,}}+|km_{_CHAR}{{16,}}+"
    r"|gh[pousr]_[A-Za-z0-9]{16,}+|github_pat_[A-Za-z0-9_]{16,}+"
    rf"|glpat-{_CHAR}{{16,}}+|npm_[A-Za-z0-9]{{30,}}+|hf_[A-Za-z0-9]{{20,}}+|pypi-{_CHAR}{{30,}}+"
    r"|(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}|LTAI[A-Za-z0-9]{12,30}|AKID[A-Za-z0-9]{13,40}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}+|xapp-[A-Za-z0-9-]{20,}+"
    rf"|AIza{_CHAR}{{30,40}}|ya29\.{_CHAR}{{20,}}+|SG\.{_CHAR}{{16,}}+\.{_CHAR}{{16,}}+"
    rf"|dop_v1_[a-f0-9]{{40,}}+|shp(?:at|ss)_[a-fA-F0-9]{{24,}}+|[0-9]{{8,10}}:AA{_CHAR}{{30,}}+"
    rf"|eyJ{_CHAR}{{8,}}+\.{_CHAR}{{8,}}+(?:\.{_CHAR}*+)?"
    r")"
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:\s{0,4}[A-Za-z-]{1,20}: [^\n]{0,80}){0,4}"
    r"[A-Za-z0-9+/=\s\\]*+(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
)
_IN_URL = re.compile(r"(?<=://)[^\s:/@]{0,64}:[^\s/@]{1,128}(?=@)")
_HEADER = re.compile(
    r"(?:(?:bearer|basic)\s{1,3}|authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:token\s{1,3})?)"
    r"([A-Za-z0-9._~+/=-]{12,512})",
    re.IGNORECASE,
)
_AFTER_KEY_WORD = re.compile(
    r"(?:api[ _-]?keys?|secret|access[ _-]?key|token|private[ _-]?key|credentials?"
    r"|app[ _-]?key|signing[ _-]?key|密钥|秘钥|私钥|令牌|凭证|口令|(?<![a-z])key)"
    r"(?:[ _-]?(?:id|key|value))?"
    r"[\"'`*]{0,3}\s{0,3}(?:=>|:=|->|[:=]|is|为|是)?\s{0,3}[\"'`*]{0,3}"
    r"([A-Za-z0-9_\-+/=.~]{12,512})",
    re.IGNORECASE,
)
_PASSWORD = re.compile(
    r"(?:password|passwd|passphrase|passcode|(?<![a-z])(?:pwd|pass)|密码|口令)"
    r"[\"'`*]{0,3}\s{0,3}(?:=>|:=|->|[:=]|(?<= )is(?: now)?|已?改?[为是])\s{0,3}"
    r"[\"'`*]{0,3}((?:(?![,;.](?:\s|[^ -~]|$)|&\w{1,30}=)[^\s\"'`。、])"
    r"{4,128})",
    re.IGNORECASE,
)
_PIN = re.compile(
    r"(?:(?<![A-Za-z])(?:PIN|pin)(?: ?code| ?码)?|取款密码|支付密码|cvv2?|cvc)"
    r"\s{0,3}(?:[:=]|is|为|是)?\s{0,3}([0-9]{3,8})(?![0-9])",
    re.IGNORECASE,
)
_MIN_PIECE_LENGTH = 6
_LONG_PIECE = 16  # from this length on, mixed case alone looks random
_MIN_ENTROPY = 2.8  # bits per character
_MIN_PASSWORD_LENGTH = 4
_PLACEHOLDER = re.compile(r"[\[<{$(%].*|[*•xX.]+")


def find_credentials(text: str) -> Iterator[Span]:
    lower = (text if text.isascii() else text.translate(_LETTERS_IGNORING_CASE)).lower()
    for keywords, expression, group, accept in _RECOGNISERS:
        if keywords and not _has_one(keywords, lower):
            continue
        for match in expression.finditer(text):
            if accept is None or accept(match[group]):
                yield match.span(group)


def _has_one(keywords: Sequence[str], text: str) -> bool:
    for keyword in keywords:  # noqa: SIM110 - `any` would take twice as long
        if keyword in text:
            return True
    return False


def _looks_random(value: str) -> bool:
    """Return whether one piece mixes letters and digits and the entropy is too high for words."""
    pieces = re.split(r"[._\-/=+~]+", value)
    mixed = any(len(piece) >= _MIN_PIECE_LENGTH and _is_mixed(piece) for piece in pieces)
    counts = Counter(value)
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return mixed and entropy >= _MIN_ENTROPY


def _is_mixed(piece: str) -> bool:
    digits = sum(char.isdigit() for char in piece)
    both_cases = piece.lower() != piece != piece.upper() and not piece.istitle()
    return 0 < digits < len(piece) or (both_cases and len(piece) >= _LONG_PIECE)


def _looks_like_password(value: str) -> bool:
    """Return whether a value is neither a placeholder nor a plain word of the sentence."""
    value = value.rstrip(".,;:!?)")
    if len(value) < _MIN_PASSWORD_LENGTH or _PLACEHOLDER.fullmatch(value):
        return False
    return not value.isalpha()


# With IGNORECASE, expressions also match these letters as i, s and k; `lower` leaves some.
_LETTERS_IGNORING_CASE = str.maketrans("\u0130\u0131\u017f\u212a", "iisk")
_KEY_WORDS = (
    *("key", "secret", "token", "credential"),
    *("密钥", "秘钥", "私钥", "令牌", "凭证", "口令"),
)
# An expression with keywords cannot match a text without one of them in lower case.
_RECOGNISERS: tuple[
    tuple[tuple[str, ...], re.Pattern[str], int, Callable[[str], bool] | None], ...
] = (
    ((), _ISSUED, 0, None),
    (("private key",), _PRIVATE_KEY, 0, None),
    (("://",), _IN_URL, 0, None),
    (("bearer", "basic", "authorization"), _HEADER, 1, _looks_random),
    (_KEY_WORDS, _AFTER_KEY_WORD, 1, _looks_random),
    (("pass", "pwd", "密码", "口令"), _PASSWORD, 1, _looks_like_password),
    (("pin", "cvv", "cvc", "取款密码", "支付密码"), _PIN, 1, None),
)
