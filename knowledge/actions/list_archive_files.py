"""Files of archives, which are documents below the path of their archive."""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from django.db.models import Q

from knowledge.models import DocumentQuerySet, KnowledgeDocument
from knowledge.parsing.formats import ARCHIVE, get_archive_folder


def list_archived_files(
    rows: DocumentQuerySet, documents: Sequence[KnowledgeDocument]
) -> list[KnowledgeDocument]:
    """Return those of the rows that are files of the archives among these documents."""
    folders = [get_archive_folder(each.ref) for each in documents if each.mime == ARCHIVE.mime]
    inside = [Q(ref__startswith=f"{folder}/") for folder in folders]
    return list(rows.not_removed().filter(reduce(or_, inside))) if inside else []
