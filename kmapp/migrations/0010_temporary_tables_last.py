"""Functions that read across accounts look for temporary tables last.

Otherwise PostgreSQL looks there first, and a caller could replace the tables that they read.
"""

from django.db import migrations

SET_SEARCH_PATH = """
DO $$
DECLARE signature regprocedure;
BEGIN
  FOR signature IN
    SELECT oid FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace
       AND pg_get_userbyid(proowner) = current_user
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = {path}', signature);
  END LOOP;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [
        ("kmapp", "0009_many_chains"),
        ("search", "0008_plans_of_large_accounts"),
    ]
    operations = [
        migrations.RunSQL(
            SET_SEARCH_PATH.format(path="pg_catalog, public, pg_temp"),
            reverse_sql=SET_SEARCH_PATH.format(path="pg_catalog, public"),
        ),
    ]
