"""The message catalogues of both languages are complete, translated and compiled.

After a change of messages: manage.py makemessages --all --ignore .venv --ignore tests --no-wrap
--no-obsolete --add-location file; translate (English repeats the source); manage.py
compilemessages --ignore .venv.
"""

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import polib
import pytest
from django.conf import settings

LOCALES = ("en", "zh_Hans")
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w*\}")
SOURCES = ("kmapp", "memory", "knowledge", "rules", "context", "interop", "templates")


@cache
def catalogue(locale: str) -> polib.POFile:
    return polib.pofile(str(settings.LOCALE_PATHS[0] / locale / "LC_MESSAGES" / "django.po"))


def names(entries: list[polib.POEntry]) -> set[tuple[str | None, str]]:
    return {(entry.msgctxt, entry.msgid) for entry in entries}


@pytest.mark.parametrize("locale", LOCALES)
def test_catalogues_are_complete(locale: str) -> None:
    saved = catalogue(locale)
    assert [entry.msgid for entry in saved.untranslated_entries()] == []
    assert [entry.msgid for entry in saved.fuzzy_entries()] == []


def test_words_with_several_meanings_have_several_translations() -> None:
    meanings = {
        ("jobs", "done"): "已完成",
        ("jobs", "failed"): "失败",
        ("RAM", "memory"): "内存",
        ("proposals", "pending"): "待审",
        ("review", "never"): "不再审核",
        ("filters", "Clear"): "清空筛选",
        ("search", "Clear"): "清空搜索",
    }
    saved = {(entry.msgctxt, entry.msgid): entry.msgstr for entry in catalogue("zh_Hans")}
    assert {name: saved.get(name) for name in meanings} == meanings


@pytest.mark.parametrize("locale", LOCALES)
def test_translations_keep_placeholders(locale: str) -> None:
    for entry in catalogue(locale):
        for text in [entry.msgstr, *entry.msgstr_plural.values()]:
            if text:
                assert sorted(PLACEHOLDER.findall(text)) == sorted(PLACEHOLDER.findall(entry.msgid))


@pytest.mark.parametrize("locale", LOCALES)
def test_compiled_catalogues_are_current(locale: str) -> None:
    path = settings.LOCALE_PATHS[0] / locale / "LC_MESSAGES" / "django.mo"
    compiled = {
        (entry.msgctxt, entry.msgid): entry.msgstr or entry.msgstr_plural
        for entry in polib.mofile(str(path))
    }
    assert compiled == {
        (entry.msgctxt, entry.msgid): entry.msgstr or entry.msgstr_plural
        for entry in catalogue(locale)
    }


def test_source_messages_are_in_the_catalogues(tmp_path: Path) -> None:
    if not shutil.which("xgettext"):
        pytest.skip("No xgettext: install gettext to see whether the catalogues miss a word.")
    for source in SOURCES:
        shutil.copytree(settings.BASE_DIR / source, tmp_path / source)
    (tmp_path / "locale").mkdir()
    command = [sys.executable, "-m", "django", "makemessages", "--locale", "en", "--verbosity", "0"]
    environment = {"PATH": os.environ["PATH"]}  # without settings, it reads the current folder
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    result = names(polib.pofile(str(tmp_path / "locale" / "en" / "LC_MESSAGES" / "django.po")))
    for locale in LOCALES:
        assert names(catalogue(locale)) == result
