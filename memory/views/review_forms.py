"""The form to correct a proposal, and decisions from submitted forms."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from kmapp.web.forms import Styled
from kmapp.web.http import WebRequest, parse_reason
from memory.actions.review import Decision
from memory.models import MemoryEntry
from memory.models.entry_input import MAX_LENGTHS, MAX_TAGS

TEXT = 50_000  # characters, as at the API


class TextField(forms.CharField):
    """A text with line feeds as line breaks; browsers send CR LF."""

    def to_python(self, value: Any) -> Any:
        text: Any = super().to_python(value)
        return text.replace("\r\n", "\n").replace("\r", "\n")


class ProposalForm(Styled):
    title = forms.CharField(label=_("Title"), max_length=500, required=False)
    content = TextField(
        label=_("Text"),
        max_length=TEXT,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "autofocus": True}),
    )
    kind = forms.ChoiceField(label=_("Kind"), choices=MemoryEntry.Kind.choices)
    tags = forms.CharField(
        label=_("Tags"), required=False, help_text=_("Separate tags with commas.")
    )

    @classmethod
    def of(cls, entry: MemoryEntry, data: Any = None) -> "ProposalForm":
        text = {"title": entry.title, "content": entry.content, "kind": entry.kind}
        return cls(data, initial=text | {"tags": ", ".join(entry.tags)})

    def clean_content(self) -> str:
        text: str = self.cleaned_data["content"]
        if not text.strip():
            raise forms.ValidationError(_("Enter the text of the memory."))
        return text

    def clean_tags(self) -> list[str]:
        tags = [tag.strip() for tag in self.cleaned_data["tags"].replace("，", ",").split(",")]
        if any(len(tag) > 100 for tag in tags):  # noqa: PLR2004 - the column's length
            raise forms.ValidationError(_("A tag can have at most 100 characters."))
        tags = list(dict.fromkeys(filter(None, tags)))
        # A memory that already has more tags keeps them.
        if len(tags) > MAX_TAGS and "tags" in self.changed_data:
            raise forms.ValidationError(
                _("Enter at most %(most)d tags of at most %(length)d characters.")
                % {"most": MAX_TAGS, "length": MAX_LENGTHS["tags"]}
            )
        return tags

    def changed(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values that a person changed in a form which showed this state.

        A stored tag may contain a comma, and a text other line breaks: unchanged, they stay as
        they are.
        """
        displayed = {**state, "tags": ", ".join(state["tags"])}
        unchanged = ProposalForm(displayed, initial=displayed)
        unchanged.is_valid()
        return {
            name: self.cleaned_data[name]
            for name in ProposalForm.base_fields
            if self.cleaned_data[name] != unchanged.cleaned_data.get(name)
        }


def build_decision(request: WebRequest, pk: UUID, version: int | None) -> Decision:
    return Decision(
        account_id=request.account_id,
        entry_id=pk,
        actor=request.actor,
        version=version,
        reason=parse_reason(request),
    )


def undo_url(entry: MemoryEntry) -> str:
    return f"{reverse('memory:undo', args=[entry.pk])}?version={entry.version}"
