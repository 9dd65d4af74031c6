"""Request serializers of knowledge."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from kmapp.api.message_content import MessageTextField
from kmapp.api.serializers import Aliases, OneOrMore, Typed, alias_help
from knowledge.actions.prepare_delivery import DeliveredFile
from knowledge.api.response_types import KnowledgeCitation, Locator
from knowledge.models import KnowledgeSource
from knowledge.retrieval.citations import URI_PATTERN, parse_uri

MAX_TEXT_LENGTH = 2_000_000  # characters; the limit of the request body is reached first
MAX_DOCUMENTS = 200
MAX_REF_LENGTH = 1000
MAX_MESSAGE = 50_000
MAX_TURNS = 1_000_000
CURSOR = r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/[^\x00]+$"  # ID/name


class SourceInput(Aliases):
    """The name of a source and its properties. Omitted properties do not change."""

    aliases = {"uri": "ref", "version": "revision"}
    shorthand = "name"

    name = serializers.CharField(max_length=200)
    kind = serializers.ChoiceField(choices=KnowledgeSource.Kind.choices, required=False)
    trust = serializers.ChoiceField(choices=KnowledgeSource.Trust.choices, required=False)
    scope = serializers.CharField(max_length=200, required=False, allow_blank=True)
    ref = serializers.CharField(max_length=2000, required=False, allow_blank=True)
    revision = serializers.CharField(max_length=200, required=False, allow_blank=True)


class DocumentInput(Aliases):
    """A document as text, HTML or base64 bytes, or the URL of a page to fetch."""

    aliases = {
        "path": "ref",
        "id": "ref",
        "filename": "ref",
        "content": "text",
        "version": "revision",
    }

    ref = serializers.CharField(max_length=MAX_REF_LENGTH)
    text = serializers.CharField(
        max_length=MAX_TEXT_LENGTH, required=False, trim_whitespace=False, allow_blank=True
    )
    html = serializers.CharField(max_length=MAX_TEXT_LENGTH, required=False, trim_whitespace=False)
    content_base64 = serializers.CharField(max_length=MAX_TEXT_LENGTH, required=False)
    fetch = serializers.BooleanField(
        default=False, help_text="Fetch `url` in a worker. This deployment must allow the site."
    )
    title = serializers.CharField(max_length=500, required=False, allow_blank=True)
    mime = serializers.CharField(max_length=100, required=False, allow_blank=True)
    url = serializers.CharField(max_length=2000, required=False, allow_blank=True)
    revision = serializers.CharField(max_length=200, required=False, allow_blank=True)
    observed_at = serializers.DateTimeField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        formats = sum(name in attrs for name in ("text", "html", "content_base64"))
        if formats + attrs["fetch"] != 1:
            raise ValidationError(
                {"text": "Send exactly one of text, html, content_base64 or fetch."}
            )
        if attrs["fetch"] and not attrs.get("url"):
            raise ValidationError({"url": "Send the url of the page to fetch."})
        if "content_base64" in attrs:
            try:
                attrs["bytes"] = base64.b64decode(attrs["content_base64"], validate=True)
            except (binascii.Error, ValueError):
                raise ValidationError({"content_base64": "is not base64"}) from None
        return attrs


def build_delivery(item_data: Mapping[str, Any]) -> DeliveredFile:
    names = ("title", "url", "revision", "observed_at", "mime")
    more = {name: item_data[name] for name in names if item_data.get(name)}
    if "html" in item_data:
        more["mime"] = "text/html"
    if item_data["fetch"]:
        return DeliveredFile(ref=item_data["ref"], pieces=(), **more)
    data = item_data.get("bytes")
    if data is None:
        data = str(item_data.get("html") or item_data.get("text", "")).encode()
    return DeliveredFile.of(item_data["ref"], data, **more)


class IngestInput(Typed):
    """Documents to add or update in a source, and the refs of documents to remove."""

    source = SourceInput()  # type: ignore[assignment]  # a field
    documents = serializers.ListField(
        child=DocumentInput(), max_length=MAX_DOCUMENTS, required=False, default=list
    )
    remove = serializers.ListField(
        child=serializers.CharField(max_length=MAX_REF_LENGTH),
        max_length=5_000,
        required=False,
        default=list,
        help_text="Refs of documents to remove, except those that this request delivers.",
    )
    complete = serializers.BooleanField(
        default=False, help_text="Also remove all documents that are not in this request."
    )


class KnowledgeSearchInput(Aliases):
    """A search of the documents."""

    aliases = {"top_k": "limit", "source": "sources", "kind": "kinds"}

    query = serializers.CharField(max_length=10_000)
    limit = serializers.IntegerField(min_value=1, max_value=50, default=10)
    sources = OneOrMore(
        child=serializers.CharField(max_length=200), max_length=50, required=False,
        help_text="Names or IDs.",
    )  # fmt: skip
    kinds = OneOrMore(
        child=serializers.ChoiceField(choices=KnowledgeSource.Kind.choices), required=False
    )
    trust = OneOrMore(
        child=serializers.ChoiceField(choices=KnowledgeSource.Trust.choices), required=False
    )
    mime = OneOrMore(child=serializers.CharField(max_length=100), max_length=20, required=False)
    scope = serializers.CharField(max_length=200, required=False, allow_blank=True)
    version = serializers.CharField(
        max_length=200,
        required=False,
        help_text="The revision of the documents at their last delivery.",
    )
    min_score = serializers.FloatField(min_value=0, max_value=1, default=0)
    merge = serializers.BooleanField(
        default=True, help_text="Merge adjacent chunks into one passage."
    )
    explain = serializers.BooleanField(default=False)


class LocatorInput(Aliases):
    """A span of one text."""

    aliases = {"sha256": "sha"}
    other_names = tuple(Locator.__annotations__)  # clients send a citation as they got it

    sha = serializers.RegexField("^[0-9a-f]{64}$", required=False)
    start = serializers.IntegerField(min_value=0, max_value=2**31 - 2, required=False)
    end = serializers.IntegerField(min_value=1, max_value=2**31 - 2, required=False)
    line_start = serializers.IntegerField(
        min_value=1, max_value=2**31 - 2, required=False, allow_null=True
    )
    line_end = serializers.IntegerField(
        min_value=1, max_value=2**31 - 2, required=False, allow_null=True
    )


class CitationInput(Typed):
    """A citation from a search result. Only `ref` and `locator` are used."""

    other_names = tuple(KnowledgeCitation.__annotations__)

    ref = serializers.UUIDField()
    locator = LocatorInput()


class GetInput(Typed):
    """The text to read: the span of a citation or of its URI, or a chunk by its ID."""

    together = {"oneOf": [alias_help(name) for name in ("citation", "uri", "id")]}

    citation = CitationInput(required=False)
    uri = serializers.RegexField(
        URI_PATTERN,
        max_length=200,
        required=False,
        allow_null=True,
        error_messages={"invalid": "This is not the URI of a citation of a document."},
    )
    id = serializers.UUIDField(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require one place, and read the URI into `span`."""
        if sum(attrs.get(name) is not None for name in ("citation", "uri", "id")) != 1:
            raise ValidationError({"citation": "Send a citation, its uri, or the id of a chunk."})
        if uri := attrs.get("uri"):
            attrs["span"] = parse_uri(uri)
        return attrs


class SourcesInput(Typed):
    """A page of the list."""

    after = serializers.RegexField(
        CURSOR,
        max_length=300,
        required=False,
        trim_whitespace=False,  # it contains a name
        help_text="The `next` of the previous page.",
    )
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)

    def validate_after(self, cursor: str) -> tuple[str, UUID]:
        """Return the name and the ID of the last source of the previous page."""
        pk, _, name = cursor.partition("/")
        return name, UUID(pk)


class LoreInput(Typed):
    """A conversation, oldest message first, and the `state` of the previous response."""

    messages = serializers.ListField(child=MessageTextField(max_length=MAX_MESSAGE), max_length=500)
    lorebooks = serializers.ListField(
        child=serializers.CharField(max_length=200), max_length=50, required=False, default=list
    )
    scope = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")
    budget = serializers.IntegerField(min_value=0, max_value=200_000, default=1_000)
    scan_depth = serializers.IntegerField(min_value=0, max_value=500, default=4)
    max_recursion = serializers.IntegerField(min_value=0, max_value=10, default=3)
    state = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_TURNS),
        required=False,
        default=dict,
    )
