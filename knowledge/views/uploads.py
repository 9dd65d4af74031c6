"""Upload of files and requests for pages."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kmapp.accounts.acting import acting
from kmapp.errors import DomainError
from kmapp.ledger.actions import recording
from kmapp.web.after_commit import AfterCommit
from kmapp.web.forms import Styled
from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_form
from kmapp.web.time_zones import exists_in_every_zone
from knowledge.actions.ingest import ingest_deliveries
from knowledge.actions.page_fetches import check_addresses, get_allowed_sites
from knowledge.actions.prepare_delivery import (
    DeliveredFile,
    PreparedDelivery,
    StoredFile,
    check_quota,
    prepare_deliveries,
)
from knowledge.actions.sources import NewSource, check_source, ensure_source, find_source
from knowledge.models import KnowledgeSource
from knowledge.parsing.formats import EXTENSIONS

MAX_FILES = 200
BATCH_FILES = 20  # in one commit
BATCH_BYTES = 1024 * 1024
KINDS = ("upload", "repo_docs", "file_set", "web_snapshot")


class _Files(forms.ClearableFileInput):
    allow_multiple_selected = True


class _ManyFiles(forms.FileField):
    def clean(self, data: Any, initial: Any = None) -> "list[UploadedFile[Any]]":
        files = data if isinstance(data, list | tuple) else [data] if data else []
        if not files and not self.required:
            return []
        files = files or [None]
        return [super(_ManyFiles, self).clean(each, initial) for each in files]


class UploadForm(Styled):
    source = forms.CharField(
        label=gettext_lazy("Source"),
        max_length=200,
        initial=gettext_lazy("Uploads"),
        help_text=gettext_lazy("Enter a new name to create a source."),
        widget=forms.TextInput(attrs={"list": "known-sources"}),
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind (new sources only)"),
        choices=[each for each in KnowledgeSource.Kind.choices if each[0] in KINDS],
        initial="upload",
    )
    trust = forms.ChoiceField(
        label=gettext_lazy("Trust"),
        choices=[("", gettext_lazy("default for this kind")), *KnowledgeSource.Trust.choices],
        required=False,
    )
    revision = forms.CharField(
        label=gettext_lazy("Revision"),
        max_length=200,
        required=False,
        help_text=gettext_lazy("For example, the Git commit of a repository archive."),
    )
    uploads = _ManyFiles(
        label=gettext_lazy("Files"),
        help_text=gettext_lazy("Files in archives (.zip) are added as separate documents."),
        widget=_Files(attrs={"accept": ",".join(f".{each}" for each in EXTENSIONS)}),
    )

    url = forms.URLField(
        label=gettext_lazy("Page URL"),
        max_length=2000,
        required=False,
        assume_scheme="https",
        help_text=gettext_lazy(
            "The URL of a web page that you saved as a file; the page is not fetched."
        ),
    )
    observed_at = forms.DateTimeField(
        label=gettext_lazy("Captured at"),
        required=False,
        help_text=gettext_lazy(
            "The time when the page had this content. Leave it empty for the current time."
        ),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if sites := get_allowed_sites():
            self.fields["uploads"].required = False
            self.fields["url"].help_text = _(
                "The URL of a web page that you saved as a file; without a file, the page is "
                "fetched if it is on one of these sites: %(sites)s."
            ) % {"sites": ", ".join(sorted(sites.hosts | sites.private))}

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if data.get("url") and len(data.get("uploads", [])) > 1:
            self.add_error("url", _("A URL belongs to one page. Choose only one file."))
        if data.get("uploads") == [] and not data.get("url"):
            self.add_error("uploads", _("Choose a file or enter a page URL."))
        return data

    def clean_observed_at(self) -> datetime | None:
        moment: datetime | None = self.cleaned_data["observed_at"]
        if moment and not exists_in_every_zone(moment):
            raise forms.ValidationError(self.fields["observed_at"].error_messages["invalid"])
        return moment

    def clean_uploads(self) -> "list[UploadedFile[Any]]":
        files: list[UploadedFile[Any]] = self.cleaned_data["uploads"]
        if len(files) > MAX_FILES:
            raise forms.ValidationError(
                _("Choose at most %(n)d files, or upload them as one archive.") % {"n": MAX_FILES}
            )
        if len({each.name for each in files}) < len(files):
            raise forms.ValidationError(
                _("Two of these files have the same name. Rename one of them.")
            )
        return files


@page_view("GET", "POST")
def upload(request: WebRequest) -> HttpResponse | AfterCommit:
    source_name = request.GET.get("source", "")
    initial = {"source": source_name} if source_name else {}
    form = UploadForm(request.POST or None, request.FILES or None, initial=initial)
    if form.is_valid():
        return AfterCommit(partial(_ingest_upload, request, form), outside_transaction=True)
    return _render_form(request, form)


def _render_form(request: WebRequest, form: UploadForm) -> HttpResponse:
    existing = KnowledgeSource.objects.of(request.account_id).of_documents().filter(scope="")
    context = {
        "form": form,
        "known": existing.order_by("name").values_list("name", flat=True)[:100],
    }
    template = "knowledge/sources/upload.html"
    return render_form(request, template, context, invalid=request.method == "POST")


def _ingest_upload(request: WebRequest, form: UploadForm) -> HttpResponse | AfterCommit:
    try:
        return _ingest_files(request, form.cleaned_data)
    except DomainError as error:
        form.add_error("uploads" if form.cleaned_data["uploads"] else "url", error.message)
        return AfterCommit(partial(_render_form, request, form))


def _ingest_files(request: WebRequest, data: dict[str, Any]) -> HttpResponse:
    """Parse files between transactions, so that no lock is held meanwhile.

    If storing fails, the files of earlier commits stay; another upload of them changes nothing.
    """
    account_id, actor = request.account_id, request.actor
    shared = {"url": data["url"], "revision": data["revision"]}
    deliveries = [
        DeliveredFile.of(
            (file.name or "file").replace("\x00", "")[:1000],
            StoredFile(partial(file.chunks, 1024 * 1024)),
            mime=file.content_type or "",
            observed_at=data["observed_at"],
            **shared,
        )
        for file in data["uploads"]
    ] or [DeliveredFile(ref=data["url"][:1000], pieces=(), **shared)]
    check_addresses(deliveries)
    with acting(account_id):
        check_quota(account_id, deliveries)
        exists = find_source(account_id, data["source"])
        new = NewSource(
            name=data["source"],
            kind="" if exists else data["kind"],
            trust=data["trust"],
            revision=data["revision"] or None,
        )
        source = check_source(account_id, actor, new)
    number = stored = 0
    try:
        for batch in _split_batches(prepare_deliveries(source, deliveries)):
            with acting(account_id), recording(account_id, actor) as commit:
                if not stored:
                    source = ensure_source(account_id, actor, new, commit=commit)
                result = ingest_deliveries(source, actor, batch, commit=commit)
            number += len(result.added) + len(result.changed)
            stored += len(batch)
    except DomainError as error:
        if stored:
            note = _("Files stored before this error: %(n)d. You can upload all files again.")
            error.message = f"{error.message} {note % {'n': stored}}"
        raise
    if not data["uploads"]:
        return redirect_with_notice(
            request, _("Fetching the page."), "knowledge:source", pk=source.pk
        )
    message = ngettext("%(n)d file uploaded.", "%(n)d files uploaded.", number)
    return redirect_with_notice(request, message % {"n": number}, "knowledge:source", pk=source.pk)


def _split_batches(prepared: Sequence[PreparedDelivery]) -> Iterator[list[PreparedDelivery]]:
    """Yield the files in batches, each of which is stored in one commit."""
    batch: list[PreparedDelivery] = []
    for each in prepared:
        batch.append(each)
        size = sum(file.delivery.size for file in batch)
        if len(batch) >= BATCH_FILES or size >= BATCH_BYTES:
            yield batch
            batch = []
    if batch:
        yield batch
