import django.db.models.deletion
from django.db import migrations, models

import kmapp.database.ids
from kmapp.accounts.row_level_security import EnableRowLevelSecurity


class Migration(migrations.Migration):
    dependencies = [("accounts", "0008_verify_on_read"), ("ledger", "0001_initial")]
    operations = [
        migrations.CreateModel(
            name="Mismatch",
            fields=[
                ("id", models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("object_type", models.CharField(max_length=50, verbose_name="object type")),
                ("object_id", models.UUIDField(verbose_name="object")),
                ("reason", models.CharField(choices=[("changed", "Differs from its sealed state"), ("outdated", "Is an older state"), ("unsealed", "Was never sealed"), ("commit", "Its commit is not part of the chain")], max_length=10, verbose_name="reason")),
                ("first_seen_at", models.DateTimeField(verbose_name="first found")),
                ("last_seen_at", models.DateTimeField(verbose_name="last found")),
                ("account", models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.account", verbose_name="account")),
            ],
            options={
                "verbose_name": "mismatch",
                "verbose_name_plural": "mismatches",
                "constraints": [models.UniqueConstraint(fields=("account", "object_type", "object_id"), name="one_mismatch_per_object")],
            },
        ),
        EnableRowLevelSecurity("ledger_mismatch"),
    ]
