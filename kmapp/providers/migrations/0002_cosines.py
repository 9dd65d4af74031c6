from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('providers', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='embeddingmodel',
            name='cosine_high',
            field=models.FloatField(default=0.75, verbose_name="cosine of the best matches"),
        ),
        migrations.AddField(
            model_name='embeddingmodel',
            name='cosine_low',
            field=models.FloatField(default=0.15, help_text="Scores are scaled from this value to the cosine of the best matches.", verbose_name='cosine of unrelated texts'),
        ),
        migrations.AddConstraint(
            model_name='embeddingmodel',
            constraint=models.CheckConstraint(condition=models.Q(('cosine_low__lt', models.F('cosine_high'))), name='best_answers_are_nearer_than_unrelated_texts'),
        ),
    ]
