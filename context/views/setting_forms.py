"""Forms of the settings page, one for each section."""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any, Self

from django import forms
from django.conf import settings as conf
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from context.assembly.assembly_policy import DEFAULT
from context.assembly.retrieval_request import REMOTE_SOURCES
from context.models import ContextSettings
from context.models.settings import (
    DEFAULT_INPUTS_DAYS,
    MAX_RETENTION_DAYS,
    check_prices,
    check_variants,
)
from context.reports.report_labels import SOURCES
from context.views.policy_forms import PolicyForm, format_input
from kmapp.search.variants import VARIANTS
from kmapp.web.forms import SettingsForm

PRICE_FIELDS = ("input", "output", "cached")


class InputsForm(SettingsForm):
    title = _("Call inputs")
    lead = _(
        "While its inputs are stored, you can replay a call and read its prompt; its "
        "token report is always kept."
    )
    inputs_days = forms.IntegerField(
        label=_("Retention (days)"),
        min_value=1,
        max_value=MAX_RETENTION_DAYS,
        required=False,
        widget=forms.NumberInput(attrs={"placeholder": DEFAULT_INPUTS_DAYS}),
    )


def format_price(model: str, price: Mapping[str, float]) -> str:
    """Return a price as a line of the form, with all the digits that were entered.

    Before a cached price, a missing output price is 0, as it is in the cost of a call.
    """
    is_plain = model.split() == [model] and not model.startswith('"')
    label = model if is_plain else f'"{model}"'
    names = [name for name in PRICE_FIELDS if name in price or "cached" in price]
    return " ".join([label, *(f"{price.get(name, 0):.15g}" for name in names)])


def parse_price(line: str) -> tuple[str, dict[str, float]]:
    """Return the model and its prices. Raise ValueError.

    A name without quotation marks ends before the last numbers, so that it may contain spaces.
    """
    quoted, _quote, rest = line.rpartition('"')
    if quoted.startswith('"'):
        model, numbers = quoted[1:], rest.split()
    else:
        words = line.split()
        size = len(words) - len(list(takewhile(_is_number, reversed(words[1:]))))
        model, numbers = " ".join(words[:size]), words[size:]
    if not 1 <= len(numbers) <= len(PRICE_FIELDS):
        raise ValueError("a line has one to three prices")
    return model, dict(zip(PRICE_FIELDS, map(float, numbers), strict=False))


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


class PricesForm(SettingsForm):
    """Prices, one model per line: its name, then prices per million tokens."""

    title = _("Prices")
    lead = _("New calls report their cost in the currency of the prices you enter.")
    prices = forms.CharField(
        label=_("Prices per million tokens"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false"}),
        help_text=_(
            "Enter one model per line: name, input, output and cached input price, for "
            'example: small 0.25 2 0.025 or "large 2" 3 15 0.3'
        ),
    )

    @classmethod
    def values_of(cls, settings: ContextSettings) -> dict[str, Any]:
        lines = [format_price(model, price) for model, price in sorted(settings.prices.items())]
        return {"prices": "\n".join(lines)}

    def clean_prices(self) -> dict[str, dict[str, float]]:
        prices_by_model = {}
        for line in filter(None, map(str.strip, self.cleaned_data["prices"].splitlines())):
            try:
                model, price = parse_price(line)
            except ValueError as error:
                raise ValidationError(
                    gettext("“%(line)s”: write a model and its prices."), params={"line": line}
                ) from error
            prices_by_model[model] = price
        check_prices(prices_by_model)
        return prices_by_model


class VariantsForm(SettingsForm):
    title = _("Variant shares")
    lead = _(
        "Percentage of conversations for each variant, 100 in total; leave empty to use "
        "the default variant for all."
    )

    def add_fields(self) -> None:
        for name, variant in VARIANTS.items():
            words = {
                "name": name,
                "index": variant.index_version,
                "algorithm": variant.algo_version,
            }
            self.fields[name] = forms.IntegerField(
                label=gettext("%(name)s: index %(index)s, ranking %(algorithm)s") % words,
                min_value=0,
                max_value=100,
                required=False,
                widget=forms.NumberInput(attrs={"placeholder": "0"}),
            )

    @classmethod
    def values_of(cls, settings: ContextSettings) -> dict[str, Any]:
        return dict(settings.variants)

    def clean(self) -> dict[str, Any]:
        """Validate that the shares add up to 100."""
        cleaned = super().clean() or {}
        if not self.errors:
            check_variants(self.values()["variants"])
        return cleaned

    def values(self) -> dict[str, Any]:
        return {"variants": {n: share for n in VARIANTS if (share := self.cleaned_data.get(n))}}


class RemoteForm(SettingsForm):
    """The connection to another kmapp that the operator allows."""

    title = _("Remote kmapp")
    lead = _(
        "Retrieval requests go to the remote kmapp first; if it fails, this installation "
        "answers and the call records it."
    )
    remote_key = forms.CharField(
        label=_("API key"),
        required=False,
        max_length=500,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_(
            "The key is stored encrypted and is not shown again; leave empty to keep the "
            "current key."
        ),
    )
    remote_sources = forms.MultipleChoiceField(
        label=_("Remote sources"),
        required=False,
        choices=[(name, SOURCES[name]) for name in REMOTE_SOURCES],
        widget=forms.CheckboxSelectMultiple,
    )

    def add_fields(self) -> None:
        current_url = self.initial["remote_url"]
        urls = dict.fromkeys([*filter(None, [current_url]), *conf.REMOTE_BASE_URLS])
        self.fields["remote_url"] = forms.ChoiceField(
            label=_("Address"),
            required=False,
            choices=[("", _("none")), *((url, url) for url in urls)],
            help_text=_(
                "The operator of this installation sets the available addresses in "
                "REMOTE_BASE_URLS."
            ),
        )
        self.order_fields(["remote_url"])

    @classmethod
    def values_of(cls, settings: ContextSettings) -> dict[str, Any]:
        return {name: getattr(settings, name) for name in ("remote_url", "remote_sources")}

    def values(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self.cleaned_data.items()
            if name != "remote_key" or value
        }


class AccountPolicyForm(PolicyForm, SettingsForm):
    """The account's policy; empty fields use the default."""

    title = _("Assembly policy")
    lead = _("Applies to every call that does not override it; empty fields use the default shown.")

    @classmethod
    def of(cls, settings: ContextSettings, data: Any = None) -> Self:
        initial = {name: format_input(value) for name, value in settings.policy.items()}
        return cls(data, initial=initial, current=DEFAULT.body())

    def values(self) -> dict[str, Any]:
        return {"policy": self.changes()}


SECTIONS: Mapping[str, type[SettingsForm]] = {
    "policy": AccountPolicyForm,
    "inputs": InputsForm,
    "prices": PricesForm,
    "variants": VariantsForm,
    "remote": RemoteForm,
}
