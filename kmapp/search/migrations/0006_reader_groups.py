"""Reader groups of documents, and codes of their vectors, packed by reader group."""

import django.db.models.deletion
from django.db import migrations, models

from kmapp.accounts.row_level_security import EnableRowLevelSecurity, SecurityDefinerFunction

TABLES = ("search_packedreadergroup", "search_packedcodes", "search_codecentre")
# Arrays do not compress.
STORAGE = """
ALTER TABLE search_packedreadergroup ALTER COLUMN numbers SET STORAGE EXTERNAL,
  SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE search_packedcodes ALTER COLUMN codes SET STORAGE EXTERNAL,
  SET (autovacuum_vacuum_scale_factor = 0.05);
"""
UNPACK = """
CREATE FUNCTION unpack_documents(account uuid, of_collection text, documents uuid[]) RETURNS void LANGUAGE sql AS $$
  WITH packed AS (
    SELECT d.document, d.number, d.reader_group, d.terms FROM search_indexeddocument d
     WHERE d.account_id = account AND d.collection = of_collection AND d.document = ANY (documents)
       AND d.number IS NOT NULL FOR UPDATE
  ), recent AS (
    UPDATE search_indexeddocument d SET number = NULL, coding = least(d.coding, 1) FROM packed p
     WHERE d.account_id = account AND d.collection = of_collection AND d.document = p.document
  )
  INSERT INTO search_removeddocument (account_id, collection, number, reader_group, terms)
  SELECT account, of_collection, number, reader_group, ARRAY(SELECT jsonb_object_keys(terms)) FROM packed
$$
"""
# Triggers, because workers of the former release pack and embed until they are replaced.
PACK_READER_GROUP = """
CREATE FUNCTION pack_reader_group() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO search_packedreadergroup AS p (account_id, collection, reader_group, block, numbers)
  SELECT n.account_id, n.collection, n.reader_group, n.number / 8192, string_agg(int4send(n.number), ''::bytea ORDER BY n.number)
    FROM after_update n JOIN before_update b USING (account_id, collection, document)
   WHERE b.number IS NULL AND n.number IS NOT NULL AND n.reader_group <> '' GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
  ON CONFLICT (account_id, collection, reader_group, block) DO UPDATE SET numbers = p.numbers || excluded.numbers;
  RETURN NULL;
END $$;
CREATE TRIGGER pack_reader_group AFTER UPDATE ON search_indexeddocument
  REFERENCING OLD TABLE AS before_update NEW TABLE AS after_update
  FOR EACH STATEMENT EXECUTE FUNCTION pack_reader_group();
"""
# A document with new vectors waits for codes; one with codes gets a new number. The lock makes a process that packs codes
# wait, or be seen.
AWAIT_CODES = """
CREATE FUNCTION await_codes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed record;
  coded uuid[];
BEGIN
  FOR changed IN SELECT account_id, collection, array_agg(object_id) AS objects, bool_or(model_id IN (
    SELECT id FROM providers_embeddingmodel WHERE state = 'active')) AS are_active
    FROM new_vectors WHERE state = 'READY' GROUP BY 1, 2
  LOOP
    WITH locked AS (
      SELECT d.document, d.coding FROM search_indexeddocument d WHERE d.account_id = changed.account_id
         AND d.collection = changed.collection AND d.document = ANY (changed.objects) AND d.reader_group <> ''
       ORDER BY d.document FOR UPDATE
    ), waiting AS (
      UPDATE search_indexeddocument d SET coding = 1 FROM locked l WHERE d.account_id = changed.account_id
         AND d.collection = changed.collection AND d.document = l.document AND l.coding = 0
    )
    SELECT array_agg(document) INTO coded FROM locked WHERE coding = 2;
    IF coded IS NOT NULL AND changed.are_active THEN
      PERFORM unpack_documents(changed.account_id, changed.collection, coded);
    END IF;
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER await_codes_of_inserted AFTER INSERT ON search_vector
  REFERENCING NEW TABLE AS new_vectors FOR EACH STATEMENT EXECUTE FUNCTION await_codes();
CREATE TRIGGER await_codes_of_updated AFTER UPDATE ON search_vector
  REFERENCING NEW TABLE AS new_vectors FOR EACH STATEMENT EXECUTE FUNCTION await_codes();
"""
STOP_AWAITING = """
DROP TRIGGER await_codes_of_updated ON search_vector;
DROP TRIGGER await_codes_of_inserted ON search_vector;
DROP FUNCTION await_codes();
"""
# A process of the former release records no group of what it removes, and leaves its number and codes.
PURGE_FORMER = """
CREATE FUNCTION without_numbers(packed bytea, size int, removed int[]) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(string_agg(item, ''::bytea ORDER BY place), ''::bytea) FROM (
    SELECT place, substring(packed FROM place * size + 1 FOR size) AS item
      FROM generate_series(0, octet_length(packed) / size - 1) place) items
   WHERE ('x' || encode(substring(item FROM 1 FOR 4), 'hex'))::bit(32)::int <> ALL (removed)
$$;
CREATE FUNCTION purge_reader_groups() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  former record;
BEGIN
  FOR former IN SELECT account_id, collection, number / 8192 AS block, array_agg(number) AS numbers
    FROM purged WHERE reader_group = '' GROUP BY 1, 2, 3
  LOOP
    UPDATE search_packedreadergroup p SET numbers = without_numbers(p.numbers, 4, former.numbers)
     WHERE p.account_id = former.account_id AND p.collection = former.collection AND p.block = former.block;
    UPDATE search_packedcodes p
       SET codes = without_numbers(p.codes, 4 + 8 * ceil(m.dimensions / 64.0)::int, former.numbers)
      FROM providers_embeddingmodel m WHERE m.id = p.model_id
       AND p.account_id = former.account_id AND p.collection = former.collection AND p.block = former.block;
    DELETE FROM search_packedreadergroup p WHERE p.account_id = former.account_id
       AND p.collection = former.collection AND p.block = former.block AND p.numbers = '';
    DELETE FROM search_packedcodes p WHERE p.account_id = former.account_id
       AND p.collection = former.collection AND p.block = former.block AND p.codes = '';
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER purge_reader_groups AFTER DELETE ON search_removeddocument
  REFERENCING OLD TABLE AS purged FOR EACH STATEMENT EXECUTE FUNCTION purge_reader_groups();
"""
STOP_PURGING = """
DROP TRIGGER purge_reader_groups ON search_removeddocument;
DROP FUNCTION purge_reader_groups();
DROP FUNCTION without_numbers(bytea, int, int[]);
"""
STOP_PACKING = """
DROP TRIGGER pack_reader_group ON search_indexeddocument;
DROP FUNCTION pack_reader_group();
"""
ACCOUNT = {"on_delete": django.db.models.deletion.CASCADE, "related_name": "+", "to": "accounts.account"}
MODEL = {**ACCOUNT, "to": "providers.embeddingmodel"}


def reader_group(**options):
    return models.CharField(max_length=210, **options)


def packed(name, label, *columns, array, plural=None):
    key = models.CompositePrimaryKey(
        "account_id", "collection", *columns, blank=True, editable=False, primary_key=True, serialize=False
    )
    fields = [
        ("pk", key),
        ("collection", models.CharField(max_length=30)),
        ("account", models.ForeignKey(db_index=False, editable=False, **ACCOUNT)),
        (array, models.BinaryField()),
    ]
    if "reader_group" in columns:
        fields += [("reader_group", reader_group()), ("block", models.IntegerField())]
    if "model_id" in columns:
        fields.append(("model", models.ForeignKey(db_index=False, **MODEL)))
    if name == "CodeCentre":
        fields.append(("size", models.IntegerField()))
    options = {"verbose_name": label, "verbose_name_plural": plural or label}
    return migrations.CreateModel(name=name, fields=fields, options=options)


class Migration(migrations.Migration):
    dependencies = [
        ("search", "0005_vectors_by_object"),
        ("providers", "0001_schema"),
        ("kmapp", "0001_isolation"),
    ]

    operations = [
        migrations.AddField("indexeddocument", "reader_group", reader_group(db_default="")),
        migrations.AddField(
            "indexeddocument",
            "coding",
            models.SmallIntegerField(choices=[(0, "None"), (1, "Waiting"), (2, "Packed")], db_default=0),
        ),
        migrations.AddField("removeddocument", "reader_group", reader_group(db_default="")),
        packed(
            "PackedReaderGroup", "packed reader group", "reader_group", "block",
            array="numbers", plural="packed reader groups",
        ),
        packed("PackedCodes", "packed codes", "model_id", "reader_group", "block", array="codes"),
        packed("CodeCentre", "centre of codes", "model_id", array="centre", plural="centres of codes"),
        *(EnableRowLevelSecurity(table) for table in TABLES),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
        migrations.RunSQL(UNPACK, "DROP FUNCTION unpack_documents(uuid, text, uuid[])"),
        migrations.RunSQL(PACK_READER_GROUP, STOP_PACKING),
        migrations.RunSQL(AWAIT_CODES, STOP_AWAITING),
        migrations.RunSQL(PURGE_FORMER, STOP_PURGING),
        SecurityDefinerFunction(
            "uncoded_collections(int)",
            "at_least int",
            "TABLE (account_id uuid, collection text)",
            "SELECT d.account_id, d.collection FROM search_indexeddocument d"
            " WHERE d.coding = 1 AND d.number IS NOT NULL GROUP BY 1, 2 HAVING count(*) >= at_least"
            " UNION SELECT c.account_id, c.collection FROM search_codecentre c"
            " JOIN providers_embeddingmodel m ON m.id = c.model_id WHERE m.state <> 'active'",
        ),
    ]
