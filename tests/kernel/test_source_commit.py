"""The commit that pages with measurements state."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kmapp.runtime.source_commit import describe_commit

IDENTITY = ("-c", "user.name=Ann", "-c", "user.email=ann@example.test")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *IDENTITY, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.skipif(not shutil.which("git"), reason="no git")
def test_commit_is_stated_with_changes_outside_of_the_docs(tmp_path: Path) -> None:
    assert describe_commit(tmp_path) == ""
    (tmp_path / "docs").mkdir()
    code, page = tmp_path / "code.py", tmp_path / "docs" / "page.md"
    for file in (code, page):
        file.write_text("first\n")
    git(tmp_path, "init", "-q")
    assert describe_commit(tmp_path) == "", "a repository without commits"
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    commit = git(tmp_path, "rev-parse", "--short", "HEAD")
    assert describe_commit(tmp_path) == commit
    page.write_text("second\n")
    assert describe_commit(tmp_path) == commit
    code.write_text("second\n")
    assert describe_commit(tmp_path) == f"{commit} with changes"
    package = tmp_path / "package"
    package.mkdir()
    assert describe_commit(package) == "", "another repository contains it"


def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert describe_commit() == ""
