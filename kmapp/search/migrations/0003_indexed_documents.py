"""One row for each document with its terms, and packed postings, instead of a row for each posting."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

from kmapp.accounts.row_level_security import EnableRowLevelSecurity, SecurityDefinerFunction

TABLES = ("search_indexeddocument", "search_packedpostings", "search_removeddocument")
# Processes of the former release write postings until they are replaced. The table stays for them, always empty:
# until then, their searches by words find nothing.
MIRROR = """
CREATE FUNCTION index_former_postings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  WITH replaced AS (
    DELETE FROM search_indexeddocument d USING former f
     WHERE d.account_id = f.account_id AND d.collection = f.collection AND d.document = f.document AND f.term = ''
    RETURNING d.account_id, d.collection, d.number, d.terms
  )
  INSERT INTO search_removeddocument (account_id, collection, number, terms)
  SELECT account_id, collection, number, ARRAY(SELECT jsonb_object_keys(terms)) FROM replaced WHERE number IS NOT NULL;
  INSERT INTO search_indexeddocument (account_id, collection, document, length, terms)
  SELECT account_id, collection, document, max(dl), coalesce(jsonb_object_agg(term, tf) FILTER (WHERE term <> ''), '{}')
    FROM former GROUP BY account_id, collection, document;
  DELETE FROM search_termposting p USING former f
   WHERE p.account_id = f.account_id AND p.collection = f.collection AND p.term = f.term AND p.document = f.document;
  RETURN NULL;
END $$;
CREATE TRIGGER index_former_postings AFTER INSERT ON search_termposting
  REFERENCING NEW TABLE AS former FOR EACH STATEMENT EXECUTE FUNCTION index_former_postings();
"""
STOP_MIRROR = """
DROP TRIGGER index_former_postings ON search_termposting;
DROP FUNCTION index_former_postings();
"""
# Arrays do not compress. Rows are written and deleted all day.
STORAGE = """
ALTER TABLE search_packedpostings ALTER COLUMN postings SET STORAGE EXTERNAL;
ALTER TABLE search_indexeddocument SET (autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE search_packedpostings SET (autovacuum_vacuum_scale_factor = 0.05);
"""
ACCOUNT = {"on_delete": django.db.models.deletion.CASCADE, "related_name": "+", "to": "accounts.account"}


def account(**options):
    return ("account", models.ForeignKey(db_index=False, editable=False, **ACCOUNT, **options))


def key(*columns):
    return (
        "pk",
        models.CompositePrimaryKey(
            "account_id", "collection", *columns, blank=True, editable=False, primary_key=True, serialize=False
        ),
    )


class Migration(migrations.Migration):
    dependencies = [("search", "0002_postings_without_foreign_key"), ("kmapp", "0001_isolation")]

    operations = [
        migrations.CreateModel(
            name="IndexedDocument",
            fields=[
                key("document"),
                ("collection", models.CharField(max_length=30)),
                ("document", models.UUIDField()),
                ("length", models.IntegerField()),
                ("terms", models.JSONField()),
                ("number", models.IntegerField(null=True)),
                account(),
            ],
            options={
                "verbose_name": "indexed document",
                "verbose_name_plural": "indexed documents",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("number__isnull", False)), fields=("account", "collection", "number"),
                        include=("document",), name="documents_by_number",
                    ),
                ],
                "indexes": [
                    models.Index(
                        condition=models.Q(("number__isnull", True)), fields=["account", "collection", "document"],
                        name="documents_not_packed",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PackedPostings",
            fields=[
                key("term", "block"),
                ("collection", models.CharField(max_length=30)),
                ("term", models.CharField(max_length=100)),
                ("block", models.IntegerField()),
                ("postings", models.BinaryField()),
                account(db_constraint=False),
            ],
            options={"verbose_name": "packed postings", "verbose_name_plural": "packed postings"},
        ),
        migrations.CreateModel(
            name="RemovedDocument",
            fields=[
                key("number"),
                ("collection", models.CharField(max_length=30)),
                ("number", models.IntegerField()),
                (
                    "terms",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), size=None),
                ),
                account(),
            ],
            options={"verbose_name": "removed document", "verbose_name_plural": "removed documents"},
        ),
        *(EnableRowLevelSecurity(table) for table in TABLES),
        # The length is read with the key to count documents.
        migrations.RunSQL(
            "ALTER TABLE search_indexeddocument DROP CONSTRAINT search_indexeddocument_pkey, "
            "ADD PRIMARY KEY (account_id, collection, document) INCLUDE (length)",
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
        SecurityDefinerFunction(
            "unpacked_collections(int)",
            "at_least int",
            "TABLE (account_id uuid, collection text)",
            "SELECT d.account_id, d.collection FROM search_indexeddocument d WHERE d.number IS NULL"
            " GROUP BY 1, 2 HAVING count(*) >= at_least"
            " UNION SELECT r.account_id, r.collection FROM search_removeddocument r",
        ),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel("TermPosting")]),
        migrations.RunSQL(MIRROR, STOP_MIRROR),
    ]
