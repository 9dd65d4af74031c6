"""What was erased says which commits named it."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0017_decisions_by_time")]
    operations = [
        migrations.AddField(
            model_name="erasedentry",
            name="commits",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.UUIDField(),
                db_default=[],
                default=list,
                editable=False,
                size=None,
            ),
        ),
    ]
