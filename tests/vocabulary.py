"""Check that identifiers use standard terms: `python -m tests.vocabulary`, a part of `make check`.

Reads the product's functions, classes, parameters, variables and modules. Each finding names the
identifier, its place and the terms to use instead.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("kmapp", "memory", "knowledge", "rules", "context", "interop", "clients")
ROOT = Path(__file__).resolve().parent.parent
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

# Word in an identifier -> what to write instead.
INSTEAD = {
    "asked": "query, request, prompt",
    "asking": "query, request, prompt",
    "beside": "neighbours, context, similar",
    "around": "neighbours, context",
    "cast": "actors",
    "deed": "action, operation, decision",
    "deeds": "actions, operations, decisions",
    "desk": "lease, editor, queue",
    "door": "entry point, tenant boundary",
    "doors": "entry points, tenant boundary",
    "echo": "repetition",
    "estate": "account, fixture",
    "far": "second-degree, distance",
    "found": "matches, results, or a find_* function",
    "given": "requested, input, arguments",
    "kept": "stored, archived, retained",
    "keeping": "retention, storing",
    "known": "existing, or find_existing",
    "looked": "inspected, checked, candidates",
    "made": "created, built, generated",
    "making": "create, build",
    "measured": "measurement, figures",
    "near": "neighbours, similar",
    "owe": "enqueue",
    "owed": "pending",
    "owes": "pending",
    "paying": "deliver",
    "said": "text, content, message, statement",
    "say": "format, describe, render",
    "says": "states, contains",
    "seat": "membership, page access",
    "seats": "memberships, concurrent editors",
    "settled": "decided, resolved",
    "shown": "visible, displayed, rendered",
    "spoken": "text, words",
    "standing": "status",
    "stands": "is, replaces",
    "story": "history",
    "taken": "acquired, used",
    "taking": "export, acquire",
    "tell": "serialize, report, format",
    "telling": "rendering, report",
    "tells": "reports, serializes",
    "told": "visible, returned, serialized",
    "waits": "is pending, needs review",
    "wall": "tenant boundary, row-level security",
    "wanted": "requested, required",
    "wanting": "request",
    "watchman": "watchdog",
    "ways": "modes, strategies, settings",
    "whose": "owner",
    "wish": "request",
    "witness": "shadow",
}
# Identifiers that contain such a word for a reason, by file; "*" is any file.
ALLOWED = {
    "*": {
        "NotFound": "the HTTP status",
        "not_found": "the HTTP status",
        "WALL_CLOCK_SECONDS": "wall-clock time",
        "asked_by": "a database column",
        "taken_by": "a database column",
        "keep_turns": "an API field",
        "kept_elsewhere": "an API field",
        "told_at": "an API field",
    },
    "kmapp/database/backup/archive_file.py": {"made_at": "a key in the file of a backup"},
    "kmapp/ledger/fsck/findings.py": {"found": "a key of the report"},
    "kmapp/search/fusion.py": {"near": "a signal in the API", "far": "a signal in the API"},
    "kmapp/search/neighbour_evidence.py": {"near": "a signal", "far": "a signal"},
    "knowledge/api/response_types.py": {"kept": "an API field", "made": "an API field"},
    "rules/api/request_serializers.py": {"Looked": "an API schema", "Asked": "an API schema"},
    "rules/models/promotions.py": {"wanted": "a database column"},
    "rules/promotion/evidence.py": {"said_good": "a stored key", "said_bad": "a stored key"},
    "memory/models/review.py": {"deed": "a database column", "asked": "a database column"},
    "memory/models/extractions.py": {"said": "a database column"},
    "memory/actions/apply_extraction.py": {"said": "a database column"},
    "memory/api/request_serializers.py": {"Asking": "an API schema"},
    "memory/views/lab_forms.py": {"door": "a parameter of saved addresses"},
    "memory/extraction/prompt_echo.py": {"prompt_echo": "the usual term"},
    "context/api/costs.py": {"told": "an API field"},
    "context/api/response_types.py": {"Kept": "an API schema", "ArchivesFound": "an API schema"},
    "context/assembly/calls.py": {"made_of": "a stored key"},
    "context/models/comparisons.py": {"wanted": "a database column"},
}
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
