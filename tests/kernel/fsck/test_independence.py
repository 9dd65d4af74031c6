"""fsck shares no code with the writer, and knows the same tables."""

import ast
import json
from pathlib import Path
from typing import Any

from django.apps import apps

import kmapp.ledger.fsck
from kmapp.accounts.models import SealedModel
from kmapp.ledger.canonical import digest, encode_canonical
from kmapp.ledger.chain import compute_commit_hash
from kmapp.ledger.fsck.hashing import compute_digest, parse_jsonb
from kmapp.ledger.fsck.sealed_tables import HISTORIES, SEALED
from tests.kernel.fsck.fixtures import Ledger


def test_fsck_imports_nothing_that_writes() -> None:
    folder = Path(str(kmapp.ledger.fsck.__file__)).parent
    imported = {
        name
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        )
    }  # fmt: skip
    own_modules = {name for name in imported if name.split(".")[0] in ("kmapp", "memory", "django")}
    assert own_modules
    assert all(name.startswith("kmapp.ledger.fsck") for name in own_modules), own_modules


def test_fsck_knows_every_table_that_the_models_seal() -> None:
    truth = {
        model._meta.db_table: frozenset(model.unsealed_fields)
        for model in apps.get_models()
        if issubclass(model, SealedModel)
    }
    assert {"accounts_account": frozenset(), **truth} == SEALED
    for table, history in HISTORIES.items():
        assert table in SEALED
        assert history.table in {model._meta.db_table for model in apps.get_models()}


def test_fsck_and_ledger_hash_equally() -> None:
    salt = bytes(16)
    values: tuple[Any, ...] = (
        *(None, True, 0, -1, 2**53 - 1, 0.1, 1e-7, 1.0, -0.0, 1e15),
        *("", "é中😀", '"\\\n', [], {}, {"b": [1.5, {"a": None}], "a": "x"}),
    )
    for value in values:
        assert compute_digest(salt, parse_jsonb(json.dumps(value))) == digest(salt, value), value
        assert parse_jsonb(encode_canonical(value).decode()) == value, value


def test_deeply_nested_value_has_no_digest_of_another_value() -> None:
    salt = bytes(16)
    for depth in (*range(800, 1_000), 5_000):  # Python decodes some that it cannot encode
        value = parse_jsonb("[" * depth + "]" * depth)
        assert compute_digest(salt, value) != compute_digest(salt, []), depth


def test_intruder_reproduces_the_commit_hash(ledger: Ledger) -> None:
    links = ledger.links()
    ledger.intruder.rehash(links, ledger.account.pk)
    assert ledger.problems() == []
    assert compute_commit_hash(links[-1])
