"""The reliability promises, with the injected fault and the required figure."""

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Promise:
    """A row of the table of promises; the promise is broken when `required` is not met."""

    text: str
    fault: str
    required: str


FILE = Path(__file__).with_name("promises.toml")
PROMISES = {
    int(number): Promise(**fields)
    for number, fields in tomllib.loads(FILE.read_text(encoding="utf-8")).items()
}
