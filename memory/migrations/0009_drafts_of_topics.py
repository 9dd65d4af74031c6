"""A topic to which too few belong yet is a draft."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0008_views_and_exports'),
    ]

    operations = [
        migrations.AlterField(
            model_name='memoryentry',
            name='status',
            field=models.CharField(choices=[('proposed', 'proposed'), ('active', 'active'), ('superseded', 'superseded'), ('rejected', 'rejected'), ('forgotten', 'forgotten'), ('draft', 'draft')], max_length=10, verbose_name='status'),
        ),
    ]
