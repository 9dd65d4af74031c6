"""Documents of existing postings. Without a transaction, so that no lock is held meanwhile."""

from django.db import migrations

COPY = """
INSERT INTO search_indexeddocument (account_id, collection, document, length, terms)
SELECT account_id, collection, document, max(dl),
       coalesce(jsonb_object_agg(term, tf) FILTER (WHERE term <> ''), '{}')
  FROM search_termposting GROUP BY account_id, collection, document
ON CONFLICT DO NOTHING
"""
DISABLE = "ALTER TABLE search_termposting DISABLE TRIGGER index_former_postings"
EMPTY = "TRUNCATE search_termposting"
COPY_BACK = """
INSERT INTO search_termposting (account_id, collection, document, term, tf, dl)
SELECT d.account_id, d.collection, d.document, t.term, least(t.tf, 32000), d.length
  FROM search_indexeddocument d, LATERAL (
    SELECT '' AS term, d.length AS tf UNION ALL SELECT key, value::int FROM jsonb_each_text(d.terms)) t
ON CONFLICT DO NOTHING
"""


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("search", "0003_indexed_documents")]
    operations = [
        migrations.RunSQL(COPY, migrations.RunSQL.noop),
        migrations.RunSQL(EMPTY, [DISABLE, COPY_BACK]),
    ]
