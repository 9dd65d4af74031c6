"""Recent and saved searches."""

import django.db.models.deletion
import kmapp.database.ids
from django.conf import settings
from django.db import migrations, models

from kmapp.accounts.row_level_security import EnableRowLevelSecurity


class Migration(migrations.Migration):
    dependencies = [
        ("web", "0002_statistics"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.CreateModel(
            name='StoredSearch',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('text', models.CharField(max_length=300, verbose_name='search')),
                ('saved', models.BooleanField(default=False, verbose_name='saved')),
                ('used_at', models.DateTimeField(verbose_name='last used')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='person')),
            ],
            options={
                'verbose_name': 'search',
                'verbose_name_plural': 'searches',
                'constraints': [models.UniqueConstraint(fields=('account', 'owner', 'text'), name='one_search_per_text')],
            },
        ),
        EnableRowLevelSecurity("web_storedsearch"),
    ]
