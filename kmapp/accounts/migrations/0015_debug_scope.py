import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0014_user_has_seen_tour'),
    ]

    operations = [
        migrations.AlterField(
            model_name='apikey',
            name='scopes',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('memory:read', 'Read memories'), ('memory:write', 'Write memories'), ('memory:erase', 'Permanently erase memories'), ('knowledge:read', 'Read knowledge'), ('knowledge:write', 'Write knowledge'), ('knowledge:trust', 'Write to trusted sources'), ('rules:read', 'Read rules'), ('rules:write', 'Write rules'), ('rules:override', 'Promote rules and change active ones'), ('context:read', 'Read context reports'), ('context:write', 'Assemble context'), ('ledger:countersign', 'Store checkpoints of another kmapp'), ('debug', 'No effect (older keys only)'), ('admin', 'Full access'), ('strict', 'Refuse requests with unknown fields')], max_length=30), size=None, verbose_name='scopes'),
        ),
    ]
