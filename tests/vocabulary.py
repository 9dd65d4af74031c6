"""Check that identifiers use standard terms: `python -m tests.vocabulary`, a part of `make check`.

Reads the product's functions, classes, parameters, variables and modules. Each finding names the
identifier, its place and the terms to use instead.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("kmapp", "memory", "knowledge", "rules", "context", "interop", "clients")
ROOT = Path(__file__).resolve().parent.parent
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

TERMS = tomllib.loads((ROOT / "tests" / "vocabulary.toml").read_text(encoding="utf-8"))
INSTEAD: dict[str, str] = TERMS["instead"]
ALLOWED: dict[str, dict[str, str]] = TERMS["allowed"]
SCHEMA_NAME = re.compile(r"[A-Z]\w+Shown")  # names of response schemas in the API


def identifiers(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield each name that the module defines, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno


def findings() -> list[str]:
    """Return one line for each identifier of the product that contains a word of `INSTEAD`."""
    lines = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" in path.parts:
                continue
            allowed = ALLOWED["*"] | ALLOWED.get(str(path.relative_to(ROOT)), {})
            names = [(path.stem, 1), *identifiers(ast.parse(path.read_text(encoding="utf-8")))]
            for name, line in names:
                words = {word.lower() for word in WORD.findall(name)} & INSTEAD.keys()
                if words and name not in allowed and not SCHEMA_NAME.fullmatch(name):
                    terms = "; ".join(f"{word}: {INSTEAD[word]}" for word in sorted(words))
                    lines.append(f"{path.relative_to(ROOT)}:{line}: {name} (instead of {terms})")
    return lines


def main() -> int:
    """Print the findings; return 1 if there are any."""
    lines = findings()
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
