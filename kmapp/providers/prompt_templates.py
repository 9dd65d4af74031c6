"""Prompts of chat models: one file each in the folder of an app. Pure."""

from functools import cache
from pathlib import Path
from string import Template


class Prompts:
    """The prompts of one folder, in which `$names` are placeholders."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, name: str, **values: str) -> str:
        """Return a prompt with its values. A missing value is an error."""
        return _load_template(self._folder / f"{name}.md").substitute(values).strip()


@cache
def _load_template(path: Path) -> Template:
    return Template(path.read_text())
