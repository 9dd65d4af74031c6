"""Parts of calls say which tool results they hold."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("context", "0014_another_kmapp")]
    operations = [
        migrations.AddField(
            model_name="contextbody",
            name="results",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=64),
                editable=False,
                null=True,
                size=None,
            ),
        ),
    ]
