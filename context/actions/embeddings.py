"""Embedding of archived tool results, passage by passage."""

from collections.abc import Iterator, Sequence
from time import monotonic
from uuid import UUID

from context.archives.passage_splitting import split_passages
from context.models import ArchiveQuerySet, ToolResultArchive
from context.models.archives import COLLECTION
from kmapp.outbox.registry import RetryLater
from kmapp.providers.models import EmbeddingModel
from kmapp.search.embed_objects import Text, embed_for_all_models, embed_objects
from kmapp.search.embedding_sources import load_examples, register_source
from kmapp.search.passage_templates import Passage, Template

MAX_SECONDS = 60  # until no further archive of a job is started
MAX_PARTS = 500  # passages of one result; the rest is found by terms only


def embed_archives(account_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Exception]:
    """Embed archives for every model in use. Return the errors of those without vectors by id.

    They are embedded one by one, because the passages of several could take longer than a job may.
    Those for which no time is left are postponed.
    """
    errors: dict[UUID, Exception] = {}
    until = monotonic() + MAX_SECONDS
    for number, pk in enumerate(ids):
        if number and monotonic() >= until:
            errors[pk] = RetryLater("time_limit", seconds=0)
        else:
            errors |= embed_for_all_models(account_id, [COLLECTION], [pk], embed_for)
    return errors


def _findable(account_id: UUID) -> ArchiveQuerySet:
    return ToolResultArchive.objects.of(account_id)


def _examples(account_id: UUID, number: int) -> dict[UUID, str]:
    rows = _findable(account_id)
    return load_examples(rows, number, title="query_summary", text="result_full")


@register_source(COLLECTION, findable=_findable, examples=_examples)
def embed_for(
    model: EmbeddingModel, account_id: UUID, ids: Sequence[UUID]
) -> dict[UUID, Exception]:
    def read(*, lock: bool) -> Iterator[Text]:
        rows = ToolResultArchive.objects.of(account_id).filter(pk__in=ids).order_by("pk")
        template = Template(model.passage_template)
        for archive in rows.select_for_update(no_key=True) if lock else rows:
            yield from _texts(template, archive)

    return embed_objects(model, account_id, ids, read=read)


def _texts(template: Template, archive: ToolResultArchive) -> Iterator[Text]:
    for number, passage in enumerate(split_passages(archive.result_full)[:MAX_PARTS]):
        text = template.render(
            Passage(text=passage.text, title=archive.query_summary, date=archive.created_at)
        )
        yield Text.of(COLLECTION, archive.pk, number, text)
