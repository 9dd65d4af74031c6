"""Knowledge stays inside its account."""

from django.db import migrations

from kmapp.accounts.row_level_security import (Isolate, Reference)


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0001_initial"), ("kmapp", "0002_doors")]
    operations = [
        Isolate("knowledge_knowledgesource"),
        Isolate("knowledge_knowledgedocument"),
        Isolate("knowledge_knowledgetext"),
        Isolate("knowledge_knowledgepiece"),
        Isolate("knowledge_knowledgechunk"),
        Isolate("knowledge_lorebookentry"),
        Isolate("knowledge_erasedknowledge"),
        Reference("knowledge_knowledgesource", "commit_id", "ledger_commit"),
        Reference("knowledge_knowledgedocument", "commit_id", "ledger_commit"),
        Reference("knowledge_knowledgedocument", "source_id", "knowledge_knowledgesource"),
        Reference("knowledge_knowledgetext", "commit_id", "ledger_commit"),
        Reference("knowledge_knowledgetext", "document_id", "knowledge_knowledgedocument"),
        Reference("knowledge_knowledgepiece", "document_id", "knowledge_knowledgedocument"),
        Reference("knowledge_knowledgechunk", "document_id", "knowledge_knowledgedocument"),
        Reference("knowledge_knowledgechunk", "text_row_id", "knowledge_knowledgetext"),
        Reference("knowledge_lorebookentry", "commit_id", "ledger_commit"),
        Reference("knowledge_lorebookentry", "source_id", "knowledge_knowledgesource"),
        Reference("knowledge_erasedknowledge", "commit_id", "ledger_commit"),
    ]
