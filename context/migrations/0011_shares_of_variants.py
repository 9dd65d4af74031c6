import context.models.settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('context', '0010_isolate_comparisons'),
    ]

    operations = [
        migrations.AddField(
            model_name='contextsettings',
            name='variants',
            field=models.JSONField(blank=True, default=dict, validators=[context.models.settings.check_variants], verbose_name="variant shares"),
        ),
    ]
