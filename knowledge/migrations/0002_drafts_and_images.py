"""Drafts of people, and images of documents."""

import django.db.models.deletion
import kmapp.database.ids
from django.conf import settings
from django.db import migrations, models

from kmapp.accounts.row_level_security import EnableRowLevelSecurity, SameAccountForeignKey


class Migration(migrations.Migration):
    dependencies = [
        ("knowledge", "0001_schema"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.CreateModel(
            name='KnowledgeDraft',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('base_version', models.PositiveIntegerField(default=0, verbose_name='version it changes')),
                ('source_name', models.CharField(blank=True, max_length=200, verbose_name='source')),
                ('folder', models.CharField(blank=True, max_length=500, verbose_name='folder')),
                ('title', models.CharField(blank=True, max_length=200, verbose_name='title')),
                ('text', models.TextField(blank=True, verbose_name='text')),
                ('updated_at', models.DateTimeField(verbose_name='updated')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('document', models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='drafts', to='knowledge.knowledgedocument', verbose_name='document')),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='person')),
            ],
            options={
                'verbose_name': 'draft',
                'verbose_name_plural': 'drafts',
                'constraints': [models.UniqueConstraint(fields=('account', 'owner', 'document'), name='one_draft_per_person', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='KnowledgeImage',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('sha256', models.CharField(max_length=64, verbose_name='digest')),
                ('mime', models.CharField(choices=[('image/png', 'PNG'), ('image/jpeg', 'JPEG'), ('image/gif', 'GIF'), ('image/webp', 'WebP')], max_length=20, verbose_name='type')),
                ('size', models.PositiveIntegerField(verbose_name='bytes')),
                ('data', models.BinaryField(verbose_name='content')),
                ('created_by', models.CharField(max_length=50, verbose_name='uploaded by')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': 'image',
                'verbose_name_plural': 'images',
                'constraints': [models.UniqueConstraint(fields=('account', 'sha256'), name='one_image_per_digest')],
            },
        ),
        EnableRowLevelSecurity("knowledge_knowledgedraft"),
        EnableRowLevelSecurity("knowledge_knowledgeimage"),
        SameAccountForeignKey("knowledge_knowledgedraft", "document_id", "knowledge_knowledgedocument"),
    ]
