"""What a chat model is told, one file each. `$names` are filled in when it is asked.

Everything between the lines of `<conversation>` and its kin was written by others: the prompts say
so, and what comes back is not trusted either (memory.answers, memory.echoes).
"""

from functools import cache
from pathlib import Path
from string import Template

FOLDER = Path(__file__).parent


@cache
def _template(name: str) -> Template:
    return Template((FOLDER / f"{name}.md").read_text())


def prompt(name: str, **values: str) -> str:
    """A prompt, filled in. A value that is missing is an error of ours."""
    return _template(name).substitute(values).strip()
