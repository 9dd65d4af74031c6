"""Triggers that keep the reader group of each memory in the search index.

A search for a user reads what is packed for everyone and for that user. The reader group contains all
memories that a viewer may see, and some others: each result is checked against the rows.
"""

from django.db import migrations

# `list_reader_groups` names those of a viewer.
FUNCTION = """
CREATE FUNCTION entry_reader_group(status text, visibility text, user_id text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN status <> 'active' THEN 'nobody' WHEN visibility = 'account' THEN 'everyone' ELSE 'user:' || user_id END
$$
"""
# The lock makes a concurrent change of the memory wait, or be seen. A row that this transaction has written is locked already.
SET_READER_GROUP = """
CREATE FUNCTION set_document_reader_group() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  is_locked boolean;
BEGIN
  SELECT entry_reader_group(e.status, e.visibility, e.user_id), e.xmin = pg_current_xact_id()::xid
    INTO NEW.reader_group, is_locked
    FROM memory_memoryentry e WHERE e.account_id = NEW.account_id AND e.id = NEW.document;
  IF NOT is_locked THEN
    SELECT entry_reader_group(e.status, e.visibility, e.user_id) INTO NEW.reader_group
      FROM memory_memoryentry e WHERE e.account_id = NEW.account_id AND e.id = NEW.document FOR SHARE;
  END IF;
  NEW.reader_group := coalesce(NEW.reader_group, '');
  NEW.coding := CASE WHEN NEW.reader_group = '' THEN 0 ELSE 1 END;
  RETURN NEW;
END $$;
CREATE TRIGGER set_document_reader_group BEFORE INSERT ON search_indexeddocument
  FOR EACH ROW WHEN (NEW.collection = 'memory') EXECUTE FUNCTION set_document_reader_group();
"""
CHANGE_READER_GROUP = """
CREATE FUNCTION change_document_reader_group() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- A process that gives it a number is waited for.
  PERFORM FROM search_indexeddocument
    WHERE account_id = NEW.account_id AND collection = 'memory' AND document = NEW.id FOR UPDATE;
  PERFORM unpack_documents(NEW.account_id, 'memory', ARRAY[NEW.id]);
  UPDATE search_indexeddocument SET reader_group = entry_reader_group(NEW.status, NEW.visibility, NEW.user_id)
   WHERE account_id = NEW.account_id AND collection = 'memory' AND document = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER change_document_reader_group AFTER UPDATE OF status, visibility, user_id ON memory_memoryentry
  FOR EACH ROW WHEN (entry_reader_group(OLD.status, OLD.visibility, OLD.user_id)
                     <> entry_reader_group(NEW.status, NEW.visibility, NEW.user_id))
  EXECUTE FUNCTION change_document_reader_group();
"""
UNDO = """
DROP TRIGGER change_document_reader_group ON memory_memoryentry;
DROP TRIGGER set_document_reader_group ON search_indexeddocument;
DROP FUNCTION change_document_reader_group();
DROP FUNCTION set_document_reader_group();
DROP FUNCTION entry_reader_group(text, text, text);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0005_entries_visible_to_all"),
        ("search", "0006_reader_groups"),
    ]

    operations = [
        migrations.RunSQL([FUNCTION, SET_READER_GROUP, CHANGE_READER_GROUP], UNDO),
    ]
