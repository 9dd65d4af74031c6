"""Page routes of knowledge."""

from django.urls import path

from knowledge.views import (
    chunk_page,
    document_details,
    document_editing,
    document_list,
    failed_documents,
    home_summary,
    images,
    memory_link_search,
    uploads,
    variant_comparison,
    versions,
)
from knowledge.views import documents as document_pages
from knowledge.views import lore as lore_pages
from knowledge.views import sources as source_pages

urlpatterns = [
    path("knowledge/", source_pages.sources, name="sources"),
    path("knowledge/upload/", uploads.upload, name="upload"),
    path("knowledge/write/", document_editing.write_document, name="write"),
    path("knowledge/memory-links/", memory_link_search.memory_links, name="memory_links"),
    path("knowledge/comparison/", variant_comparison.comparison, name="comparison"),
    path("knowledge/comparison/ask/", variant_comparison.save_question, name="ask"),
    path(
        "knowledge/comparison/<uuid:pk>/forget/", variant_comparison.delete_question, name="forget"
    ),
    path("knowledge/failures/", failed_documents.failures, name="failures"),
    path("knowledge/sources/<uuid:pk>/", source_pages.source, name="source"),
    path("knowledge/sources/<uuid:pk>/progress/", source_pages.progress, name="progress"),
    path("knowledge/sources/<uuid:pk>/erase/", source_pages.erase, name="source_erase"),
    path("knowledge/summary/", home_summary.summary, name="summary"),
    path("knowledge/documents/", document_list.documents, name="documents"),
    path("knowledge/documents/<uuid:pk>/details/", document_details.details, name="details"),
    path("knowledge/documents/<uuid:pk>/reviewed/", document_details.review, name="reviewed"),
    path("knowledge/documents/<uuid:pk>/", document_pages.document, name="document"),
    path("knowledge/documents/<uuid:pk>/retry/", failed_documents.retry, name="retry"),
    path("knowledge/documents/<uuid:pk>/erase/", document_pages.erase, name="document_erase"),
    path("knowledge/documents/<uuid:pk>/edit/", document_editing.edit_document, name="edit"),
    path(
        "knowledge/documents/<uuid:pk>/progress/", document_pages.progress, name="document_progress"
    ),
    path("knowledge/documents/<uuid:pk>/versions/", versions.history, name="history"),
    path("knowledge/documents/<uuid:pk>/restore/", versions.restore, name="restore"),
    path("knowledge/images/<slug:digest>/", images.image, name="image"),
    path("knowledge/chunks/<uuid:pk>/", chunk_page.chunk, name="chunk"),
    path("lore/", lore_pages.lore, name="lore"),
    path("lore/new/", lore_pages.new_lorebook, name="lore_new"),
    path("lore/bench/", lore_pages.lore_test, name="bench"),
    path("lore/<uuid:pk>/", lore_pages.lorebook, name="lorebook"),
    path("lore/<uuid:pk>/new/", lore_pages.new_entry, name="lore_add"),
    path("lore/<uuid:pk>/erase/", lore_pages.erase_lorebook, name="lore_erase"),
    path("lore/entries/<uuid:pk>/", lore_pages.entry, name="lore_entry"),
    path("lore/entries/<uuid:pk>/erase/", lore_pages.delete_entry, name="lore_drop"),
]
