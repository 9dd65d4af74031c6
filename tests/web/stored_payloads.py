"""Payloads written into every text column of an account."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from django.contrib.postgres.fields import ArrayField
from django.db import models
from psycopg.errors import UniqueViolation
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from kmapp.accounts.models import Account, AccountOwned, User
from tests.kernel.fsck.tampering import Intruder
from tests.payloads import PAYLOADS
from tests.web.staff import MODELS

TEXTS = [payload.text for payload in PAYLOADS]
ESCAPED = {text: json.dumps(text)[1:-1] for text in TEXTS}
WORD = "the-word-of-somebody"
# Columns that only the product writes and reads; they contain no text of users.
OURS = re.compile(
    r"sha256$|hash$|digest$|signature$|^key_id$|^prefix$|fingerprint$|_by$|^(actor|holder|rater)$"
    r"|^(topic|job_key|handler|queue|collection|index_versions?|shape|language|password|slug)$"
    r"|_ids$|^(redact|scopes|refs|flags|actions|variants?|fallback|target|review_keys)$"
)
OUR_COLUMNS = {
    "accounts_user.time_zone",
    "ledger_commit.diff",
    "webhooks_webhook.event_types",
    "webhooks_webhook.payload_format",
    "ledger_seal.object_type",
    "ledger_seal.op",
    "outbox_outboxevent.payload",
    "outbox_outboxevent.traceparent",
    "outbox_delivery.reason",
    "knowledge_knowledgedocument.owner",
    "knowledge_knowledgedocument.reviewer",
    "memory_bulkpart.chosen",
    "memory_topicsuggestion.members",
    "memory_memorysettings.forget_after",
    "memory_finding.name",
    "memory_ranking.evaluation",
    "memory_ranking.weights",
    "rules_rulebacktest.examples",
    "rules_rulesuggestion.evidence",
    "context_contextcomparison.left",
    "context_contextcomparison.right",
    "context_contextsettings.policy",
    "context_contextinput.rest",
}
JSON_TEXTS = {"context_contextbody.text"}
# JSON values as the product stores them, for columns that the rows of tests leave empty.
_TEXT = {"text": WORD, "title": WORD, "url": WORD, WORD: [WORD]}
_TOOL = {"tool": {"prefer": [WORD], "deny": [WORD]}}
_ENTRY = {"title": WORD, "slots": _TEXT, "tags": [WORD], "entities": [WORD], "sources": [_TEXT]}
SHAPES: dict[str, Any] = {
    "ledger_note.input": _TEXT,
    "company_companysignin.role_by_group": {WORD: "reviewer"},
    "memory_memoryentry.slots": _TEXT,
    "memory_memoryentry.sources": [_TEXT, WORD],
    "memory_memoryversion.state": _ENTRY,
    "memory_extraction.metadata": _TEXT,
    "memory_extraction.result": {"facts": [WORD]},
    "memory_memorysettings.categories": {WORD: WORD},
    "memory_finding.details": {"excerpt": WORD, "pairs": [[WORD, WORD]], "negated": WORD},
    "rules_rule.then": _TOOL | {"output": {WORD: WORD}},
    "rules_rule.exceptions": [{WORD: WORD}],
    "rules_ruledecision.policy": _TOOL | {"output": {WORD: WORD}},
    "rules_ruledecision.denied": {WORD: WORD},
    "rules_ruleobservation.after": {"ordered": [WORD], "selected": WORD},
    "context_toolresultarchive.tool_input": _TEXT,
    "context_toolresultarchive.sources": [WORD],
    "context_contextcostreport.tool_tokens": {WORD: 3},
    "context_contextdifference.differences": {"tools_lost": [WORD], "tools_gained": [WORD]},
    "context_contextsettings.tool_thresholds": {WORD: 3},
    "context_contextsettings.prices": {WORD: {"input": 1}},
}


def columns_of(model: type[models.Model]) -> "Iterator[models.Field[Any, Any]]":
    """Yield the columns with text of users."""
    for column in model._meta.concrete_fields:
        inner = getattr(column, "base_field", column)
        if not isinstance(inner, models.CharField | models.TextField | models.JSONField):
            continue
        is_own = OURS.search(column.attname) or _name(model, column) in OUR_COLUMNS
        if not inner.choices and not is_own:
            yield column


def _name(model: type[models.Model], column: "models.Field[Any, Any]") -> str:
    return f"{model._meta.db_table}.{column.attname}"


@dataclass
class Planter:
    """Writes the payloads into every column with text of users."""

    intruder: Intruder
    words: Sequence[str]
    planted: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def plant(self) -> None:
        for model in MODELS:
            if columns := list(columns_of(model)):
                self._plant_in(model, columns)

    def name(self, account: Account, person: User, number: int) -> None:
        """Set the names shown on every page."""
        name, most = TEXTS[number % len(TEXTS)], 150
        self.intruder.run("UPDATE accounts_account SET name = %s WHERE id = %s", name, account.pk)
        change = "UPDATE accounts_user SET first_name = %s, last_name = %s WHERE id = %s"
        self.intruder.run(
            change, pack_payloads(number, most), pack_payloads(number + 1, most), person.pk
        )

    def _plant_in(
        self, model: type[models.Model], columns: "Sequence[models.Field[Any, Any]]"
    ) -> None:
        table, pk = model._meta.db_table, model._meta.pk.attname
        cursor = self.intruder.connection.cursor(row_factory=dict_row)
        rows = cursor.execute(f"SELECT * FROM {table} ORDER BY {pk}").fetchall()  # noqa: S608 - names of ours
        for number, row in enumerate(rows):
            values = self._build_values(model, columns, row, number)
            names = ", ".join(f'"{name}" = %s' for name in values)
            change = f"UPDATE {table} SET {names} WHERE {pk} = %s"  # noqa: S608 - names of ours
            self.intruder.run(change, *values.values(), row[pk])
        if issubclass(model, AccountOwned) and any(map(_length_limit, columns)):
            self._copy(model, columns, rows)

    def _copy(
        self,
        model: type[models.Model],
        columns: "Sequence[models.Field[Any, Any]]",
        rows: Sequence[dict[str, Any]],
    ) -> None:
        """Insert rows until short columns hold all payloads."""
        table, pk = model._meta.db_table, model._meta.pk.attname
        for number in range(len(rows), len(TEXTS)):
            row = rows[number % len(rows)]
            values = self._build_values(model, columns, row, number)
            made: dict[str, Any] = row | values | {pk: uuid4()}
            made = {n: Jsonb(v) if isinstance(v, dict) else v for n, v in made.items()}
            names = '", "'.join(made)
            holes = ", ".join(["%s"] * len(made))
            copy = f'INSERT INTO {table} ("{names}") VALUES ({holes})'  # noqa: S608 - names of ours
            try:
                self.intruder.run(copy, *made.values())
            except UniqueViolation:
                return

    def _build_values(
        self,
        model: type[models.Model],
        columns: "Sequence[models.Field[Any, Any]]",
        row: dict[str, Any],
        number: int,
    ) -> dict[str, Any]:
        """Return payloads for the columns of a row, and record them in `planted`."""
        values: dict[str, Any] = {}
        for column in columns:
            name, limit = _name(model, column), _length_limit(column)
            old = row[column.attname]
            if isinstance(column, models.JSONField):
                values[column.attname] = Jsonb(self._spread(_shaped(old, SHAPES.get(name)), TEXTS))
            elif isinstance(column, ArrayField):
                most = column.base_field.max_length or 10_000
                values[column.attname] = [text for text in TEXTS if len(text) <= most]
            elif name in JSON_TEXTS:
                values[column.attname] = json.dumps(self._spread(json.loads(old), TEXTS))
            else:
                values[column.attname] = pack_payloads(number, limit) if limit else " ".join(TEXTS)
            if len(self.planted[name]) < len(TEXTS):
                self.planted[name] |= _payloads_in(values[column.attname])
        return values

    def _spread(self, value: Any, texts: Sequence[str]) -> Any:
        """Give lists and objects an item for each payload; texts hold all of them."""
        if isinstance(value, str):
            for word in self.words:
                value = value.replace(word, " ".join(texts))
            return value
        if isinstance(value, list):
            return [self._spread(one, some) for one in value for some in self._each(one, texts)]
        if isinstance(value, dict):
            return {
                self._spread(key, some): self._spread(one, some)
                for key, one in value.items()
                for some in self._each(key, texts)
            }
        return value

    def _each(self, value: Any, texts: Sequence[str]) -> Sequence[Sequence[str]]:
        """Return the payloads one by one if the value contains a placeholder, else together."""
        if any(_holds(value, word) for word in self.words):
            return [[text] for text in texts]
        return [texts]


def _shaped(value: Any, shape: Any) -> Any:
    if isinstance(value, dict) and isinstance(shape, dict):
        return value | shape
    return value if shape is None else shape


def _length_limit(column: "models.Field[Any, Any]") -> int:
    """Return the length limit of a column that is too short for all payloads, or 0."""
    most = getattr(column, "max_length", None) or 0
    return most if most < len(" ".join(TEXTS)) else 0


def pack_payloads(number: int, limit: int) -> str:
    """Return as many payloads as fit into `limit` characters; sixty rows contain them all."""
    start = 3 * number + number // 20
    turned = [TEXTS[(start + i) % len(TEXTS)] for i in range(len(TEXTS))]
    text = turned[0]
    for more in turned[1:]:
        if len(text) + 1 + len(more) > limit:
            break
        text += f" {more}"
    return text


def _strings(value: Any) -> Iterator[str]:
    """Yield every text in a value, including keys."""
    if isinstance(value, Jsonb):
        yield from _strings(value.obj)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in [*value, *value.values()]:
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


def _holds(value: Any, text: str) -> bool:
    return any(text in one for one in _strings(value))


def _payloads_in(value: Any) -> set[str]:
    whole = "\n".join(_strings(value))
    return {text for text, escaped in ESCAPED.items() if text in whole or escaped in whole}
