"""What a person may say about rules."""

from django import forms
from django.utils.text import capfirst

from kmapp.web.forms import Styled
from rules.actions.book import CHANGEABLE
from rules.models import RuleBook


def _whole(name: str, *, least: int = 0, required: bool = True) -> forms.IntegerField:
    field = RuleBook._meta.get_field(name)
    return forms.IntegerField(
        label=capfirst(field.verbose_name),  # type: ignore[union-attr]
        help_text=field.help_text,  # type: ignore[union-attr]
        min_value=least,
        max_value=36_500 if not required else 1_000_000,
        required=required,
        widget=forms.NumberInput(attrs={"inputmode": "numeric"}),
    )


class BookForm(Styled):
    """The gate, in the words of the rule book."""

    min_seen = _whole("min_seen")
    min_changed = _whole("min_changed")
    max_against = forms.FloatField(
        label=capfirst(RuleBook._meta.get_field("max_against").verbose_name),
        help_text=RuleBook._meta.get_field("max_against").help_text,
        min_value=0,
        max_value=1,
        widget=forms.NumberInput(attrs={"step": "0.01", "inputmode": "decimal"}),
    )
    second_person = forms.BooleanField(
        label=capfirst(RuleBook._meta.get_field("second_person").verbose_name),
        help_text=RuleBook._meta.get_field("second_person").help_text,
        required=False,
    )
    decision_days = _whole("decision_days", least=1, required=False)

    @classmethod
    def of(cls, book: RuleBook) -> "BookForm":
        return cls(initial={name: getattr(book, name) for name in CHANGEABLE})
