"""Many memories are forgotten at once."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0009_drafts_of_topics'),
    ]

    operations = [
        migrations.AlterField(
            model_name='bulkrun',
            name='deed',
            field=models.CharField(choices=[('approve', 'Approve'), ('reject', 'Reject'), ('forget', 'Forget')], max_length=7, verbose_name="action"),
        ),
    ]
