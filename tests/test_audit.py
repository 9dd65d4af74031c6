"""The audit fails for known vulnerabilities, and not for unknown packages."""

import json

from tests.audit import build_report

FINE = {"name": "django", "version": "5.2.19", "vulns": []}
FLAW = {"id": "PYSEC-2026-1", "fix_versions": ["1.1"], "aliases": [], "description": ""}
UNKNOWN = {"name": "amqp", "skip_reason": "Dependency not found on PyPI"}
BAD = {"name": "leaky", "version": "1.0", "vulns": [FLAW]}


def test_audit_without_vulnerabilities_passes() -> None:
    report = build_report(0, json.dumps({"dependencies": [FINE, UNKNOWN, UNKNOWN]}), "")
    assert not report.failed
    assert report.text.startswith("1 packages looked up, none with a known vulnerability")
    assert "nothing on 2 others" in report.text


def test_known_vulnerability_fails_the_audit() -> None:
    report = build_report(
        1, json.dumps({"dependencies": [FINE, BAD]}), "Found 1 known vulnerability"
    )
    assert (report.failed, report.text) == (True, "leaky 1.0: PYSEC-2026-1 (fixed in 1.1)")


def test_unreachable_audit_service_is_reported_without_failing() -> None:
    report = build_report(
        1, "", "ERROR:pip_audit._cli:Could not connect to PyPI's vulnerability feed"
    )
    assert not report.failed
    assert "cannot be reached" in report.text


def test_other_audit_errors_fail() -> None:
    assert build_report(1, "", "ERROR:pip_audit._cli:requirement has no hash").failed
    assert build_report(2, "", "").failed
