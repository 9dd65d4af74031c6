"""Calls of before tell their tools in columns too."""

from django.db import migrations

TOLD = """
UPDATE context_contextcostreport SET
  tool_tokens = coalesce(
    (SELECT jsonb_object_agg(name, tokens) FROM (
      SELECT item ->> 'name' AS name, sum((item ->> 'tokens')::int) AS tokens
      FROM jsonb_array_elements(report -> 'items') AS item
      WHERE item ->> 'kind' = 'tool' GROUP BY 1) AS tool),
    '{}'),
  called_tools = ARRAY(
    SELECT DISTINCT jsonb_array_elements_text(item -> 'calls')
    FROM jsonb_array_elements(report -> 'items') AS item ORDER BY 1)
"""


class Migration(migrations.Migration):
    dependencies = [("context", "0005_tools_of_calls")]
    operations = [migrations.RunSQL(TOLD, migrations.RunSQL.noop)]
