"""Rules stay inside their account, and so does all that hangs on them."""

from django.db import migrations

from kmapp.accounts.row_level_security import (EnableRowLevelSecurity, SameAccountForeignKey)

TABLES = (
    "rule",
    "ruleversion",
    "rulebook",
    "ruledecision",
    "ruleobservation",
    "rulefeedback",
    "rulestatistics",
    "rulepromotion",
    "rulebacktest",
    "rulesuggestion",
)
OF_A_RULE = (
    "ruleversion",
    "ruleobservation",
    "rulestatistics",
    "rulepromotion",
    "rulebacktest",
    "rulesuggestion",
)
COMMITTED = ("rule", "ruleversion", "rulebook", "rulefeedback", "rulepromotion")


class Migration(migrations.Migration):
    dependencies = [("rules", "0001_initial"), ("kmapp", "0002_doors")]
    operations = [
        *(EnableRowLevelSecurity(f"rules_{table}") for table in TABLES),
        *(SameAccountForeignKey(f"rules_{table}", "commit_id", "ledger_commit") for table in COMMITTED),
        *(SameAccountForeignKey(f"rules_{table}", "rule_id", "rules_rule") for table in OF_A_RULE),
        SameAccountForeignKey("rules_ruleobservation", "decision_id", "rules_ruledecision"),
        SameAccountForeignKey("rules_rulefeedback", "decision_id", "rules_ruledecision"),
    ]
