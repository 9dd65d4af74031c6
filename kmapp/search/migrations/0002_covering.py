"""A search by words reads the key of the postings and nothing else."""

from django.db import migrations

KEY = "PRIMARY KEY (account_id, collection, term, document)"
CHANGE = "ALTER TABLE search_termposting DROP CONSTRAINT search_termposting_pkey, ADD "


class Migration(migrations.Migration):
    dependencies = [("search", "0001_initial")]
    operations = [migrations.RunSQL(f"{CHANGE}{KEY} INCLUDE (tf, dl)", f"{CHANGE}{KEY}")]
