"""What a chat model may answer, and what becomes of an answer that is something else. Pure.

Nothing that a model says is trusted. An answer without the right shape is `Unusable` as a whole;
inside one of the right shape, what is wrong is refused one by one, with the reason.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

MOST_FACTS = 50
TEXT = 2_000  # characters of one fact
REASON = 500
NAMES = 20  # entities or tags of one fact
NAME = 100  # characters of one of them
FENCE = re.compile(r"\A\s*```[\w-]*[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)

Kind = Literal["fact", "preference", "skill", "pattern", "context"]
KINDS: tuple[str, ...] = ("fact", "preference", "skill", "pattern", "context")
USER_CATEGORIES = {
    "preferences": "likes and dislikes in food, products, activities, entertainment",
    "details": "names, relationships, important dates",
    "plans": "upcoming events, trips, goals",
    "services": "how they like to dine, travel, and be served",
    "health": "diet, allergies, fitness, wellness",
    "work": "occupation, habits of work, career goals",
    "other": "favourite books, films, brands and anything else they share",
}
AGENT_CATEGORIES = {
    "preferences": "what it likes and dislikes",
    "abilities": "skills, tasks it can do",
    "plans": "activities it says it does or intends",
    "personality": "traits and manner",
    "approach": "how it goes about tasks and questions",
    "knowledge": "fields in which it is at home",
    "other": "its name and anything else that sets it apart",
}


class InvalidResponse(Exception):
    """An answer of the wrong shape: nothing of it is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One item of an answer that is not used, and why."""

    item: int
    reason: str


class ResponseModel(BaseModel):
    """One thing that a model says. Types are not guessed; what we did not ask for is dropped."""

    model_config = ConfigDict(strict=True, extra="ignore")

    @field_validator("*")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        texts = value if isinstance(value, list) else [value]
        if any(isinstance(text, str) and "\x00" in text for text in texts):
            raise ValueError("holds a NUL")
        return value


class Fact(ResponseModel):
    """One statement worth remembering."""

    text: str = Field(min_length=1, max_length=TEXT)
    kind: Kind
    category: str = Field(default="", max_length=100)
    importance: float = 0.5
    entities: list[str] = []
    tags: list[str] = []

    @field_validator("importance")
    @classmethod
    def _clamped(cls, value: float) -> float:
        return min(max(value, 0.0), 1.0) if math.isfinite(value) else 0.5

    @field_validator("text")
    @classmethod
    def _reject_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("says nothing")
        return value.strip()

    @field_validator("entities", "tags")
    @classmethod
    def _few_and_short(cls, value: list[str]) -> list[str]:
        return [name.strip() for name in value if 0 < len(name.strip()) <= NAME][:NAMES]


class Decision(ResponseModel):
    """What becomes of one fact."""

    fact: int
    event: Literal["ADD", "UPDATE", "DELETE", "NONE"]
    memory: int | None = None
    text: str | None = Field(default=None, max_length=TEXT)
    reason: str = ""

    @field_validator("reason")
    @classmethod
    def _short(cls, value: str) -> str:
        return value[:REASON]


class TaskAssessment(ResponseModel):
    """Whether a task left anything worth keeping."""

    should_store: bool
    reasoning: str = ""

    @field_validator("reasoning")
    @classmethod
    def _short(cls, value: str) -> str:
        return value[:REASON]


class Rewrite(ResponseModel):
    """A memory as it reads from now on."""

    content: str = Field(min_length=1, max_length=50_000)
    importance: float | None = None

    @field_validator("importance")
    @classmethod
    def _clamped(cls, value: float | None) -> float | None:
        if value is None or not math.isfinite(value):
            return None
        return min(max(value, 0.0), 1.0)


S = TypeVar("S", bound=ResponseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedItems(Generic[S]):
    """The items of an answer that can be used, by their number, and those that cannot."""

    items: Mapping[int, S]
    refused: Sequence[Refusal] = ()
    whole: Mapping[str, Any] = field(default_factory=dict)


def strip_code_fence(text: str) -> str:
    """Without the code fence that models like to put around an answer."""
    match = FENCE.match(text)
    return (match[1] if match else text).strip()


def parse_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(strip_code_fence(text))
        text.encode()  # JSON may spell half of a character
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise InvalidResponse("it is not JSON") from error
    if not isinstance(value, dict):
        raise InvalidResponse("it is not a JSON object")
    return value


def parse_items(
    text: str, name: str, shape: type[S], rename: Mapping[str, str] | None = None
) -> ParsedItems[S]:
    """Return the named list of an answer, item by item."""
    whole = parse_object(text)
    raw_items = whole.get(name)
    if not isinstance(raw_items, list):
        raise InvalidResponse(f'it has no list "{name}"')
    items, refused = {}, []
    for number, each in enumerate(raw_items):
        if number >= MOST_FACTS:
            reason = f"{len(raw_items) - MOST_FACTS} more than {MOST_FACTS} items"
            refused.append(Refusal(item=number, reason=reason))
            break
        try:
            items[number] = shape.model_validate(_renamed(each, rename or {}))
        except ValidationError as error:
            refused.append(Refusal(item=number, reason=_why(error)))
    if raw_items and not items:
        raise InvalidResponse(f'nothing in "{name}" has the right form: {refused[0].reason}')
    return ParsedItems(items=items, refused=refused, whole=whole)


def parse_task_assessment(text: str) -> ParsedItems[Fact]:
    """Whether a task was worth remembering, and what of it."""
    worth = parse_one(text, TaskAssessment)
    whole = worth.model_dump()
    if not worth.should_store:
        return ParsedItems(items={}, whole=whole)
    read = parse_items(text, "memories", Fact, {"type": "kind", "content": "text"})
    return ParsedItems(items=read.items, refused=read.refused, whole=whole)


def parse_one(text: str, shape: type[S]) -> S:
    try:
        return shape.model_validate(parse_object(text))
    except ValidationError as error:
        raise InvalidResponse(_why(error)) from error


def _renamed(each: Any, names: Mapping[str, str]) -> Any:
    if not isinstance(each, dict):
        return each
    return {names.get(str(name), name): value for name, value in each.items()}


def _why(error: ValidationError) -> str:
    """Where and what, without the value: it may be anything."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}"[:REASON] if place else first["msg"][:REASON]


def _form(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return a strict JSON Schema: all properties are listed and required."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_NUMBER = {"type": "number"}
_KIND = {"type": "string", "enum": list(KINDS)}


def facts_schema(categories: Sequence[str]) -> dict[str, Any]:
    category = {"type": "string", "enum": list(categories)}
    properties = {"text": _TEXT, "kind": _KIND, "category": category, "importance": _NUMBER}
    return _form({"facts": {"type": "array", "items": _form({**properties, "entities": _TEXTS})}})


_DECISION = {
    "fact": {"type": "integer"},
    "event": {"type": "string", "enum": ["ADD", "UPDATE", "DELETE", "NONE"]},
    "memory": {"type": ["integer", "null"]},
    "text": {"type": ["string", "null"]},
    "reason": _TEXT,
}
DECISIONS_SCHEMA = _form({"decisions": {"type": "array", "items": _form(_DECISION)}})
_MEMORY = {"type": _KIND, "content": _TEXT, "importance": _NUMBER, "tags": _TEXTS}
TASK_ASSESSMENT_SCHEMA = _form(
    {
        "should_store": {"type": "boolean"},
        "reasoning": _TEXT,
        "memories": {"type": "array", "items": _form({**_MEMORY, "entities": _TEXTS})},
    }
)
REWRITE_SCHEMA = _form({"content": _TEXT, "importance": {"type": ["number", "null"]}})
