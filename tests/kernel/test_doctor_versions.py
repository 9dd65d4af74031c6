"""`manage.py doctor` reports a Python and servers that are too old."""

from types import ModuleType

import pytest

from kmapp.management.doctor import connections, database, versions
from kmapp.management.doctor.registry import CheckFunction
from tests.kernel.test_doctor import run


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("module", "oldest", "check"),
    [
        (versions, {"PYTHON": (99, 0)}, versions.check_python),
        (database, {"POSTGRES": 99}, database.check_postgres),
        (database, {"PGVECTOR": (0, 99)}, database.check_postgres),
        (connections, {"VALKEY": 99}, connections.check_valkey),
    ],
)
def test_version_that_is_too_old(
    module: ModuleType,
    oldest: dict[str, object],
    check: CheckFunction,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert [finding.split()[0] for finding in run(check)] == ["OK"]
    for name, value in oldest.items():
        monkeypatch.setattr(module, name, value)
    [finding] = run(check)
    assert finding.startswith("ERROR ")
    assert finding.endswith(" is too old")
