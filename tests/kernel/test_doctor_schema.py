"""`manage.py doctor` reports tables whose row-level security is not that of their migration."""

import pytest

from kmapp.management.doctor.schema import check_row_level_security
from tests.kernel.test_doctor import run, superuser


@pytest.mark.parametrize(
    "change",
    [
        "ALTER POLICY own_account ON {} USING (true)",
        "ALTER POLICY own_account ON {} WITH CHECK (true)",
        "ALTER POLICY own_account ON {} TO PUBLIC",
        "CREATE POLICY reports ON {} FOR SELECT USING (true)",
        "DROP POLICY owner_sees_all ON {}",
        "ALTER TABLE {} DISABLE ROW LEVEL SECURITY",
    ],
)
def test_changed_policies(committed: str, change: str) -> None:
    assert run(check_row_level_security)[0].startswith("OK")
    with superuser(committed) as server:
        server.execute(change.format("rules_rule"))
    [finding] = run(check_row_level_security)
    assert finding.startswith("ERROR row-level security is off or changed for rules_rule:")
