"""Banks of Hindsight: a bank is an agent, its profile is a memory of the agent about itself."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from interop.field_validation import field_error
from interop.hindsight.base_views import BankView, build_profile_memory

TRAITS = ("skepticism", "literalism", "empathy")
DEFAULT_TRAIT = 3


class Bank(BankView):
    """Create, change or delete a bank."""

    def put(self, request: HttpRequest, bank: str) -> Any:
        profile = self.profile_of(bank)
        current = profile.find() or profile.find_proposal(build_profile_memory(bank, {}))
        settings = {**(current["metadata"] if current else {}), **_settings(self.body())}
        profile.put(build_profile_memory(bank, settings))
        return _profile_output(bank, settings)

    patch = put

    def delete(self, request: HttpRequest, bank: str) -> Any:
        self.require_bank(bank)
        forgotten = self.forget_owned({"agent_id": bank})
        if forgotten["event_id"]:
            # Workers forget the memories. A bank that is created meanwhile must be a new one.
            self.profile_of(bank).delete()
        return {
            "success": True,
            "message": "The memories of the bank are forgotten.",
            "deleted_count": forgotten["count"],
        }


class BankProfile(BankView):
    """Return the profile of a bank."""

    def get(self, request: HttpRequest, bank: str) -> Any:
        return _profile_output(bank, self.require_bank(bank)["metadata"])


def _settings(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a request names."""
    names = ("name", "mission", "background", "retain_mission", "reflect_mission")
    settings = {name: data[name] for name in names if isinstance(data.get(name), str)}
    traits = data.get("disposition") if isinstance(data.get("disposition"), Mapping) else {}
    for trait in TRAITS:
        value = data.get(f"disposition_{trait}") or (traits or {}).get(trait)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 5:  # noqa: PLR2004
            raise field_error(f"disposition.{trait}", "must be a number from 1 to 5")
        settings[trait] = value
    return settings


def _profile_output(bank: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "bank_id": bank,
        "name": settings.get("name") or bank,
        "disposition": {trait: settings.get(trait, DEFAULT_TRAIT) for trait in TRAITS},
        "mission": settings.get("mission", ""),
        "background": settings.get("background"),
    }
