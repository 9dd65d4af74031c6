"""Invitations to an account by e-mail."""

import django.db.models.deletion
from django.db import migrations, models

import kmapp.database.ids
from kmapp.accounts.row_level_security import EnableRowLevelSecurity, SameAccountForeignKey


class Migration(migrations.Migration):
    dependencies = [("accounts", "0009_account_numbers"), ("ledger", "0001_initial")]
    operations = [
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ("email", models.EmailField(max_length=150, verbose_name="e-mail")),
                ("role", models.CharField(choices=[("reviewer", "Reviewer"), ("admin", "Admin")], max_length=10, verbose_name="role")),
                ("language", models.CharField(max_length=10, verbose_name="language")),
                ("invited_by", models.CharField(max_length=50, verbose_name="invited by")),
                ("messages", models.PositiveSmallIntegerField(default=1, verbose_name="messages")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="invited")),
                ("expires_at", models.DateTimeField(verbose_name="expires")),
                ("accepted_at", models.DateTimeField(blank=True, null=True, verbose_name="accepted")),
                ("revoked_at", models.DateTimeField(blank=True, null=True, verbose_name="revoked")),
                ("account", models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.account", verbose_name="account")),
                ("commit", models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="ledger.commit", verbose_name="commit")),
            ],
            options={
                "verbose_name": "invitation",
                "verbose_name_plural": "invitations",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("accepted_at", None), ("revoked_at", None)),
                        fields=("account", "email"),
                        name="one_open_invitation_per_address",
                    )
                ],
            },
        ),
        EnableRowLevelSecurity("accounts_invitation"),
        SameAccountForeignKey("accounts_invitation", "commit_id", "ledger_commit"),
    ]
