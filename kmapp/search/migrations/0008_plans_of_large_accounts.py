"""Plans for an unknown account expect the largest account, not one of average size.

After an import, the indexes of documents that wait are large for their few entries, since a B-tree
keeps its size. For an account of average size, PostgreSQL would rather list all its documents.
"""

from django.db import migrations

# PostgreSQL divides the rows by this number, and expects no more than the largest account has.
EXPECT_LARGEST_ACCOUNT = "ALTER TABLE search_indexeddocument ALTER account_id SET (n_distinct = 1)"
EXPECT_AVERAGE_ACCOUNT = "ALTER TABLE search_indexeddocument ALTER account_id RESET (n_distinct)"
ANALYZE = "ANALYZE search_indexeddocument"


class Migration(migrations.Migration):
    dependencies = [("search", "0007_documents_not_coded")]
    operations = [
        migrations.RunSQL(
            [EXPECT_LARGEST_ACCOUNT, ANALYZE], reverse_sql=[EXPECT_AVERAGE_ACCOUNT, ANALYZE]
        ),
    ]
