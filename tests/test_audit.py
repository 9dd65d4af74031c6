"""The audit fails for what is known to be vulnerable, and for nothing that is merely unknown."""

import json

from tests.audit import told

FINE = {"name": "django", "version": "5.2.19", "vulns": []}
FLAW = {"id": "PYSEC-2026-1", "fix_versions": ["1.1"], "aliases": [], "description": ""}
UNKNOWN = {"name": "amqp", "skip_reason": "Dependency not found on PyPI"}
BAD = {"name": "leaky", "version": "1.0", "vulns": [FLAW]}


def test_nothing_known_is_fine() -> None:
    report = told(0, json.dumps({"dependencies": [FINE, UNKNOWN, UNKNOWN]}), "")
    assert not report.failed
    assert report.text.startswith("1 packages looked up, none with a known vulnerability")
    assert "nothing on 2 others" in report.text


def test_a_known_vulnerability_fails_and_is_named() -> None:
    report = told(1, json.dumps({"dependencies": [FINE, BAD]}), "Found 1 known vulnerability")
    assert (report.failed, report.text) == (True, "leaky 1.0: PYSEC-2026-1 (mended in 1.1)")


def test_a_service_out_of_reach_is_said_and_does_not_fail() -> None:
    report = told(1, "", "ERROR:pip_audit._cli:Could not connect to PyPI's vulnerability feed")
    assert not report.failed
    assert "cannot be reached" in report.text


def test_an_audit_that_breaks_otherwise_fails() -> None:
    assert told(1, "", "ERROR:pip_audit._cli:requirement has no hash").failed
    assert told(2, "", "").failed
