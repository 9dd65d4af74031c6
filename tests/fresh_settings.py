"""The settings that a new process would have."""

import importlib
import sys
from typing import Any

import pytest

import kmapp.settings


def load_settings() -> dict[str, Any]:
    """Read the settings again from the environment; those in use do not change."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kmapp, "settings", kmapp.settings)  # restores it: an import replaces it
        for name in [*sys.modules]:
            if name == "kmapp.settings" or name.startswith("kmapp.settings."):
                patch.delitem(sys.modules, name)
        return vars(importlib.import_module("kmapp.settings"))
