"""Schemas of a chat model's responses, and their validation. Pure.

No response is trusted. One of the wrong form raises `InvalidResponse`; in one of the right form,
invalid items are refused one by one with the reason.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator

MAX_ITEMS = 50
MAX_TEXT = 2_000  # characters of one fact
MAX_REASON = 500
MAX_NAMES = 20  # entities or tags of one fact
MAX_NAME = 100  # characters of one of them
MAX_PROCEDURE = 50_000
MAX_LABEL = 60  # characters of a topic's label
FENCE_PATTERN = re.compile(r"\A\s*```[\w-]*[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)
FIRST_STEP_PATTERN = re.compile(
    r"^[^\S\n]*+(?:#++[^\S\n]*+)?(?:\*\*)?1[^\S\n]*+[.)、:]", re.MULTILINE
)

FactKind = Literal["fact", "preference", "skill", "pattern", "context"]
KINDS: tuple[str, ...] = get_args(FactKind)
Event = Literal["ADD", "UPDATE", "DELETE", "NONE"]
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
    """The response has the wrong form; nothing of it is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedItem:
    """An item of a response that is not used, and why."""

    item: int
    reason: str


class ResponseModel(BaseModel):
    """An object in a response. Types are strict; unknown fields are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")

    @field_validator("*")
    @classmethod
    def _refuse_nul(cls, value: Any) -> Any:
        texts = value if isinstance(value, list) else [value]
        if any(isinstance(text, str) and "\x00" in text for text in texts):
            raise ValueError("contains a NUL")
        return value


Reason = Annotated[str, AfterValidator(lambda text: text[:MAX_REASON])]


def _clamp(value: float | None, default: float | None) -> float | None:
    """Return the nearest number from 0 to 1, or the default for infinity and NaN."""
    if value is None or not math.isfinite(value):
        return default
    return min(max(value, 0.0), 1.0)


class Fact(ResponseModel):
    """One statement worth remembering."""

    text: str = Field(min_length=1, max_length=MAX_TEXT)
    kind: FactKind
    category: str = Field(default="", max_length=100)
    importance: Annotated[float, AfterValidator(lambda value: _clamp(value, 0.5))] = 0.5
    entities: list[str] = []
    tags: list[str] = []

    @field_validator("text")
    @classmethod
    def _require_text(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is empty")
        return value.strip()

    @field_validator("entities", "tags")
    @classmethod
    def _limit_names(cls, value: list[str]) -> list[str]:
        return [name.strip() for name in value if 0 < len(name.strip()) <= MAX_NAME][:MAX_NAMES]


class FactDecision(ResponseModel):
    """The decision about one fact."""

    fact: int
    event: Event
    memory: int | None = None
    text: str | None = Field(default=None, max_length=MAX_TEXT)
    reason: Reason = ""


class TaskAssessment(ResponseModel):
    """Whether a task left anything worth storing."""

    should_store: bool
    reasoning: Reason = ""


class Rewrite(ResponseModel):
    """The new text of a memory."""

    content: str = Field(min_length=1, max_length=50_000)
    importance: Annotated[float | None, AfterValidator(lambda value: _clamp(value, None))] = None


class TopicLabel(ResponseModel):
    """The label of a topic."""

    label: Annotated[str, AfterValidator(lambda text: " ".join(text.split()))] = Field(
        min_length=1, max_length=MAX_LABEL
    )


S = TypeVar("S", bound=ResponseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedItems(Generic[S]):
    """Valid items of a response by index, the refused items, and the whole object."""

    items: Mapping[int, S]
    refused: Sequence[RefusedItem] = ()
    payload: Mapping[str, Any] = field(default_factory=dict)


def strip_code_fence(text: str) -> str:
    """Remove the code fence that some models put around a response."""
    match = FENCE_PATTERN.match(text)
    return (match[1] if match else text).strip()


def parse_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(strip_code_fence(text))
        text.encode()  # JSON may hold half of a surrogate pair
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise InvalidResponse("it is not JSON") from error
    if not isinstance(value, dict):
        raise InvalidResponse("it is not a JSON object")
    return value


def parse_items(
    text: str, name: str, shape: type[S], rename: Mapping[str, str] | None = None
) -> ParsedItems[S]:
    """Parse the list of this name item by item; `rename` maps field names of the response."""
    payload = parse_object(text)
    values = payload.get(name)
    if not isinstance(values, list):
        raise InvalidResponse(f'it has no list "{name}"')
    items, refused = {}, []
    for number, value in enumerate(values):
        if number >= MAX_ITEMS:
            reason = f"{len(values) - MAX_ITEMS} more than {MAX_ITEMS} items"
            refused.append(RefusedItem(item=number, reason=reason))
            break
        try:
            items[number] = shape.model_validate(_rename(value, rename or {}))
        except ValidationError as error:
            refused.append(RefusedItem(item=number, reason=_format_error(error)))
    if values and not items:
        raise InvalidResponse(f'nothing in "{name}" has the right form: {refused[0].reason}')
    return ParsedItems(items=items, refused=refused, payload=payload)


def parse_decisions(text: str) -> ParsedItems[FactDecision]:
    parsed = parse_items(text, "decisions", FactDecision)
    if not parsed.items:  # accepting it would lose the facts
        raise InvalidResponse("it decides nothing")
    return parsed


def parse_task_assessment(text: str) -> ParsedItems[Fact]:
    """Parse whether a task was worth storing, and the facts to store."""
    assessment = parse_one(text, TaskAssessment)
    payload = assessment.model_dump()
    if not assessment.should_store:
        return ParsedItems(items={}, payload=payload)
    parsed = parse_items(text, "memories", Fact, {"type": "kind", "content": "text"})
    return ParsedItems(items=parsed.items, refused=parsed.refused, payload=payload)


def parse_one(text: str, shape: type[S]) -> S:
    try:
        return shape.model_validate(parse_object(text))
    except ValidationError as error:
        raise InvalidResponse(_format_error(error)) from error


def parse_procedure(raw: str, *, numbered: bool) -> str:
    """Return the record in an answer, without a code fence; `numbered` requires numbered steps."""
    text = strip_code_fence(raw)
    if not text or "\x00" in text:
        raise InvalidResponse("it is empty")
    if len(text) > MAX_PROCEDURE:
        raise InvalidResponse(f"it is longer than {MAX_PROCEDURE} characters")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidResponse("it is not text") from error
    if numbered and not FIRST_STEP_PATTERN.search(text):
        raise InvalidResponse("it has no numbered steps")
    return text


def _rename(value: Any, names: Mapping[str, str]) -> Any:
    if not isinstance(value, dict):
        return value
    return {names.get(str(name), name): each for name, each in value.items()}


def _format_error(error: ValidationError) -> str:
    """Return the path and the message, without the value, which is untrusted."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}"[:MAX_REASON] if place else first["msg"][:MAX_REASON]


def _strict_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON schema in strict form: every property is required, no others are allowed."""
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


def build_facts_schema(categories: Sequence[str]) -> dict[str, Any]:
    category = {"type": "string", "enum": list(categories)}
    fact = {"text": _TEXT, "kind": _KIND, "category": category, "importance": _NUMBER}
    return _strict_object(
        {"facts": {"type": "array", "items": _strict_object({**fact, "entities": _TEXTS})}}
    )


_DECISION = {
    "fact": {"type": "integer"},
    "event": {"type": "string", "enum": list(get_args(Event))},
    "memory": {"type": ["integer", "null"]},
    "text": {"type": ["string", "null"]},
    "reason": _TEXT,
}
DECISIONS_SCHEMA = _strict_object(
    {"decisions": {"type": "array", "items": _strict_object(_DECISION)}}
)
_MEMORY = {"type": _KIND, "content": _TEXT, "importance": _NUMBER, "tags": _TEXTS}
TASK_ASSESSMENT_SCHEMA = _strict_object(
    {
        "should_store": {"type": "boolean"},
        "reasoning": _TEXT,
        "memories": {"type": "array", "items": _strict_object({**_MEMORY, "entities": _TEXTS})},
    }
)
TOPIC_LABEL_SCHEMA = _strict_object({"label": _TEXT})
REWRITE_SCHEMA = _strict_object({"content": _TEXT, "importance": {"type": ["number", "null"]}})
