"""Reader groups of existing documents. In blocks of 5,000, so that no lock is held for long."""

from django.db import migrations

# Their codes are packed later; until then, the index is searched.
FILL = """
DO $$
DECLARE
  last_account uuid := '00000000-0000-0000-0000-000000000000';
  last_document uuid := '00000000-0000-0000-0000-000000000000';
BEGIN
  LOOP
    WITH block AS MATERIALIZED (
      SELECT account_id, document FROM search_indexeddocument
       WHERE (account_id, collection, document) > (last_account, 'memory', last_document) AND collection = 'memory'
       ORDER BY account_id, collection, document LIMIT 5000 FOR UPDATE
    ), filled AS (
      UPDATE search_indexeddocument d
         SET reader_group = entry_reader_group(e.status, e.visibility, e.user_id), coding = 1
        FROM block b JOIN memory_memoryentry e ON e.account_id = b.account_id AND e.id = b.document
       WHERE d.account_id = b.account_id AND d.collection = 'memory' AND d.document = b.document AND d.reader_group = ''
      RETURNING d.account_id, d.reader_group, d.number
    ), packed AS (
      INSERT INTO search_packedreadergroup AS p (account_id, collection, reader_group, block, numbers)
      SELECT account_id, 'memory', reader_group, number / 8192, string_agg(int4send(number), ''::bytea ORDER BY number)
        FROM filled WHERE number IS NOT NULL GROUP BY 1, 3, 4 ORDER BY 1, 3, 4
      ON CONFLICT (account_id, collection, reader_group, block) DO UPDATE SET numbers = p.numbers || excluded.numbers
    )
    SELECT account_id, document INTO last_account, last_document FROM block
     ORDER BY account_id DESC, document DESC LIMIT 1;
    EXIT WHEN NOT FOUND;
    COMMIT;
  END LOOP;
END $$;
"""


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("memory", "0006_reader_groups"), ("search", "0007_documents_not_coded")]
    operations = [migrations.RunSQL(FILL, migrations.RunSQL.noop)]
