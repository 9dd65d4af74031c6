"""Forms to write a new document, and to edit the text of one."""

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from kmapp.web.forms import Styled
from knowledge.actions.document_editing import MAX_LENGTH, NewDocument
from knowledge.models import KnowledgeDraft

IMAGE_TYPES = "image/png,image/jpeg,image/gif,image/webp"


class TextForm(Styled):
    version = forms.IntegerField(min_value=0, max_value=2**31 - 1, widget=forms.HiddenInput)
    text = forms.CharField(
        label=_("Text"),
        max_length=MAX_LENGTH,
        strip=False,
        required=False,
        widget=forms.Textarea(attrs={"rows": 24, "class": "form-control editor-text"}),
    )
    image = forms.FileField(
        label=_("Image"), required=False, widget=forms.FileInput(attrs={"accept": IMAGE_TYPES})
    )

    def read_text(self) -> str:
        """Return the text as it was entered, even if it is too long to be saved."""
        return str(self.data.get("text", "")).replace("\r\n", "\n").replace("\x00", "")

    def clean_text(self) -> str:
        return self.read_text()

    def draft_values(self) -> dict[str, str | int]:
        data = self.cleaned_data
        names = {"source_name": "source", "folder": "folder", "title": "title"}
        values = {column: data.get(name) or "" for column, name in names.items()}
        text = data.get("text", self.read_text())
        return {"text": text, "base_version": data.get("version") or 0, **values}

    @classmethod
    def of_draft(cls, draft: KnowledgeDraft) -> "TextForm":
        values = {
            name: getattr(draft, column)
            for name, column in (
                *(("text", "text"), ("version", "base_version"), ("title", "title")),
                *(("source", "source_name"), ("folder", "folder")),
            )
        }
        return cls(initial=values)


def _format_now() -> str:
    """Return the current time with its UTC offset, which is parsed alike in every time zone."""
    return timezone.now().isoformat()


class NewForm(TextForm):
    title = forms.CharField(label=_("Title"), max_length=200)
    source = forms.CharField(
        label=_("Source"),
        max_length=200,
        initial=_("Handbook"),
        help_text=_("Enter a new name to create a source; it is trusted."),
        widget=forms.TextInput(attrs={"list": "known-sources", "autocomplete": "off"}),
    )
    folder = forms.CharField(
        label=_("Folder"),
        max_length=500,
        required=False,
        help_text=_("For example guides/tea; leave empty for none."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    opened_at = forms.DateTimeField(required=False, initial=_format_now, widget=forms.HiddenInput)
    field_order = ("version", "title", "source", "folder", "text", "image")

    def new_document(self) -> NewDocument:
        names = ("source", "folder", "title", "text")
        return NewDocument(**{name: self.cleaned_data.get(name) or "" for name in names})
