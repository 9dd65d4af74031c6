import django.db.models.deletion
import kmapp.database.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_override_scope'),
        ('context', '0008_citations'),
    ]

    operations = [
        migrations.CreateModel(
            name='ContextComparison',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('left', models.JSONField(verbose_name="baseline")),
                ('right', models.JSONField(verbose_name="candidate")),
                ('agent_id', models.CharField(blank=True, max_length=200, verbose_name='agent')),
                ('model', models.CharField(blank=True, max_length=100, verbose_name='model')),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('running', 'Running'), ('succeeded', 'Done'), ('failed', 'Failed')], default='pending', max_length=9, verbose_name='status')),
                ('wanted', models.PositiveIntegerField(verbose_name="calls requested")),
                ('total', models.PositiveIntegerField(default=0, verbose_name='calls')),
                ('done', models.PositiveIntegerField(default=0, verbose_name="processed")),
                ('gone', models.PositiveIntegerField(default=0, verbose_name="calls with expired inputs")),
                ('asked_by', models.CharField(max_length=50, verbose_name="requested by")),
                ('created_at', models.DateTimeField(verbose_name='time')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': "call comparison",
                'verbose_name_plural': "call comparisons",
            },
        ),
        migrations.CreateModel(
            name='ContextDifference',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('fits_before', models.BooleanField(verbose_name="baseline within budget")),
                ('fits_after', models.BooleanField(verbose_name="candidate within budget")),
                ('before', models.PositiveIntegerField(verbose_name="baseline tokens")),
                ('after', models.PositiveIntegerField(verbose_name="candidate tokens")),
                ('change', models.IntegerField(verbose_name='change in tokens')),
                ('size', models.PositiveIntegerField(verbose_name='size of the change')),
                ('dropped_before', models.PositiveIntegerField(verbose_name="left out in the baseline")),
                ('dropped_after', models.PositiveIntegerField(verbose_name="left out in the candidate")),
                ('evidence_lost', models.PositiveIntegerField(verbose_name='evidence lost')),
                ('cost_before', models.FloatField(null=True, verbose_name="baseline cost")),
                ('cost_after', models.FloatField(null=True, verbose_name="candidate cost")),
                ('is_same', models.BooleanField(verbose_name="unchanged")),
                ('differences', models.JSONField(verbose_name='differences')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('comparison', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='differences', to='context.contextcomparison', verbose_name='comparison')),
                ('report', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='context.contextcostreport', verbose_name='call')),
            ],
            options={
                'verbose_name': "call difference",
                'verbose_name_plural': "call differences",
            },
        ),
        migrations.AddIndex(
            model_name='contextcomparison',
            index=models.Index(fields=['account', '-created_at', '-id'], name='comparisons_newest_first'),
        ),
        migrations.AddConstraint(
            model_name='contextcomparison',
            constraint=models.UniqueConstraint(fields=('account', 'id'), name='comparison_in_account'),
        ),
        migrations.AddIndex(
            model_name='contextdifference',
            index=models.Index(fields=['account', 'comparison', '-size', 'id'], name='differences_by_size'),
        ),
        migrations.AddConstraint(
            model_name='contextdifference',
            constraint=models.UniqueConstraint(fields=('account', 'comparison', 'report'), name='one_difference_per_call'),
        ),
    ]
