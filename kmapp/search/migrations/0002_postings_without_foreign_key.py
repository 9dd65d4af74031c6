"""Postings without a foreign key, which the database checked for each of them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("search", "0001_schema")]

    operations = [
        migrations.AlterField(
            model_name="termposting",
            name="account",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                editable=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="accounts.account",
            ),
        ),
    ]
