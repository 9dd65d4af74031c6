"""What was said before, word for word, is found."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("memory", "0011_what_is_noted")]
    operations = [
        AddIndexConcurrently(
            model_name="memoryentry",
            index=models.Index(fields=["account", "written_sha256"], name="entries_by_body"),
        )
    ]
