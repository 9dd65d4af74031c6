"""Which call cites what."""

import django.db.models.deletion
import kmapp.database.ids
from django.db import migrations, models

from kmapp.accounts.row_level_security import (EnableRowLevelSecurity, SameAccountForeignKey)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_override_scope'),
        ('context', '0007_decisions_in_the_index'),
    ]

    operations = [
        migrations.CreateModel(
            name='ContextCitation',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('ref', models.UUIDField(verbose_name="cited object")),
                ('created_at', models.DateTimeField(verbose_name="requested")),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('report', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='cited', to='context.contextcostreport', verbose_name='call')),
            ],
            options={
                'verbose_name': "call citation",
                'verbose_name_plural': "call citations",
                'constraints': [models.UniqueConstraint(fields=('account', 'ref', 'report'), name='one_citation_per_call')],
            },
        ),
        EnableRowLevelSecurity("context_contextcitation"),
        SameAccountForeignKey("context_contextcitation", "report_id", "context_contextcostreport"),
    ]
