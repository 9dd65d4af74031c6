"""Base classes of forms."""

import json
from typing import Any, Self, cast

from django import forms
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

CONFLICT = _(
    "Someone else changed this while you were editing. Nothing was saved, and your input is still "
    "here. Open this page in another tab to compare, or save again to replace their changes."
)

# The CSS class of a widget; the first match applies, as some widgets inherit from others.
STYLES = (
    (forms.CheckboxSelectMultiple, "checks"),
    (forms.CheckboxInput, "check"),
    (forms.Select, "form-select"),
    (forms.Widget, "form-control"),
)


class Styled(forms.Form):
    """A form whose fields have the CSS classes of their widgets."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.add_fields()
        for field in self.fields.values():
            style = next((css for widget, css in STYLES if isinstance(field.widget, widget)))
            field.widget.attrs.setdefault("class", style)

    def add_fields(self) -> None:
        """Add fields that depend on the arguments of the form."""

    def add_conflict(self, version_field: str, current: object) -> None:
        """Report that someone else changed the row since the form was opened.

        The hidden field gets the current version, so that saving again replaces that change.
        """
        data = cast("QueryDict", self.data).copy()
        data[version_field] = str(current)
        self.data = data
        self.add_error(None, CONFLICT)


class SettingsForm(Styled):
    """Some settings of a row, with the heading and the description of their section."""

    title: str | Promise = ""
    lead: str | Promise = ""

    @classmethod
    def of(cls, settings: Any, data: Any = None) -> Self:
        return cls(data, initial=cls.values_of(settings))

    @classmethod
    def values_of(cls, settings: Any) -> dict[str, Any]:
        return {name: getattr(settings, name) for name in cls.base_fields}

    def values(self) -> dict[str, Any]:
        return dict(self.cleaned_data)

    @property
    def confirmation(self) -> str:
        """Return the valid values as one text, which a confirmation page sends back.

        A person confirms values, not the number of rows that they affect, because that may grow
        until the confirmation arrives.
        """
        return json.dumps(self.cleaned_data, default=str, sort_keys=True)

    @property
    def is_confirmed(self) -> bool:
        return bool(self.data.get("confirmed") == self.confirmation)
