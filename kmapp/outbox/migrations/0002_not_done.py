from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_initial'),
        ('outbox', '0001_initial'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('done_at', None)), fields=['handler'], name='deliveries_not_done'),
        ),
    ]
