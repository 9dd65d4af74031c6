"""Charsets that the HTTP header of a fetched page states."""

from urllib.parse import quote

import pytest

from kmapp.security.egress.allowed_urls import AllowedSites
from knowledge.fetching.charsets import convert_to_utf8, find_codec
from knowledge.fetching.fetch import fetch_page
from knowledge.parsing.html import extract_text
from tests.knowledge.websites import JAPANESE, Site

TEXTS = [
    ("ISO-8859-1", "latin-1", "Le thé vert reste à l'ombre."),
    ("windows-1252", "cp1252", "“Thé” à 80 °C"),
    ("koi8-r", "koi8-r", "Зелёный чай"),
    ("Shift_JIS", "shift_jis", JAPANESE),
    ("iso-2022-jp", "iso2022_jp", JAPANESE),
    ("Big5", "big5", "綠茶要冷藏。"),
    ("EUC-KR", "euc_kr", "녹차는 차게."),
    ("utf-16le", "utf-16-le", "Green tea"),
]


@pytest.mark.parametrize("charset", ["shift_jis", "iso-2022-jp", "utf-8"])
def test_fetched_page_is_read_in_the_charset_of_its_header(site: Site, charset: str) -> None:
    url, allowed = f"http://{site.netloc}/charset/{charset}", AllowedSites.of([], [site.netloc])
    with fetch_page(url, allowed) as page:
        assert page.mime == "text/html"
        assert extract_text(b"".join(page)) == (JAPANESE, JAPANESE)


def test_redirect_to_an_address_in_utf_8_is_followed(site: Site) -> None:
    path, allowed = "/page/绿茶", AllowedSites.of([], [site.netloc])
    with fetch_page(f"http://{site.netloc}/to/{quote(path, safe='')}", allowed) as page:
        assert page.url == f"http://{site.netloc}{quote(path)}"


@pytest.mark.parametrize(
    ("charset", "encoding", "text"),
    [
        ("big5", "cp950", "綠茶要冷藏，裏面恒溫。"),
        ("big5-hkscs", "big5hkscs", "綠茶嘅味道"),
        ("gb2312", "gbk", "绿茶，朱镕基"),
        ("Shift_JIS", "cp932", "①～緑茶は冷やす。"),
        ("iso-8859-1", "cp1252", "“Thé” à 80 °C – vert"),
    ],
)
def test_page_is_read_in_the_charset_that_it_declares(
    charset: str, encoding: str, text: str
) -> None:
    page = f"<html><head><meta charset={charset}><title>{text}</title></head><body><p>{text}"
    assert extract_text(page.encode(encoding)) == (text, text)


@pytest.mark.parametrize(("charset", "encoding", "text"), TEXTS)
def test_text_is_converted_from_its_charset(charset: str, encoding: str, text: str) -> None:
    codec = find_codec(f'text/html; charset="{charset}"')
    assert convert_to_utf8(text.encode(encoding), codec).decode() == text


@pytest.mark.parametrize(
    ("charset", "data"),
    [
        ("iso-8859-1", "Thé".encode()),
        ("shift_jis", "Thé".encode("utf-16")),
        ("shift_jis", "Thé vert".encode("latin-1")),
    ],
    ids=["UTF-8", "byte order mark", "another charset"],
)
def test_other_text_is_unchanged(charset: str, data: bytes) -> None:
    assert convert_to_utf8(data, find_codec(f"text/plain;charset={charset}")) is data


@pytest.mark.parametrize(
    "content_type",
    ["text/html", "text/html; charset=", "text/html; charset=none", "text/html; charset=utf-8"]
    + [f"text/html; charset={name}" for name in ("punycode", "idna", "hex", "unicode_escape")],
)
def test_other_codecs_are_not_used(content_type: str) -> None:
    assert find_codec(content_type) == ""
