"""Knowledge stays inside its account."""

from django.db import migrations

from kmapp.accounts.row_level_security import (EnableRowLevelSecurity, SameAccountForeignKey)


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0001_initial"), ("kmapp", "0002_doors")]
    operations = [
        EnableRowLevelSecurity("knowledge_knowledgesource"),
        EnableRowLevelSecurity("knowledge_knowledgedocument"),
        EnableRowLevelSecurity("knowledge_knowledgetext"),
        EnableRowLevelSecurity("knowledge_knowledgepiece"),
        EnableRowLevelSecurity("knowledge_knowledgechunk"),
        EnableRowLevelSecurity("knowledge_lorebookentry"),
        EnableRowLevelSecurity("knowledge_erasedknowledge"),
        SameAccountForeignKey("knowledge_knowledgesource", "commit_id", "ledger_commit"),
        SameAccountForeignKey("knowledge_knowledgedocument", "commit_id", "ledger_commit"),
        SameAccountForeignKey("knowledge_knowledgedocument", "source_id", "knowledge_knowledgesource"),
        SameAccountForeignKey("knowledge_knowledgetext", "commit_id", "ledger_commit"),
        SameAccountForeignKey("knowledge_knowledgetext", "document_id", "knowledge_knowledgedocument"),
        SameAccountForeignKey("knowledge_knowledgepiece", "document_id", "knowledge_knowledgedocument"),
        SameAccountForeignKey("knowledge_knowledgechunk", "document_id", "knowledge_knowledgedocument"),
        SameAccountForeignKey("knowledge_knowledgechunk", "text_row_id", "knowledge_knowledgetext"),
        SameAccountForeignKey("knowledge_lorebookentry", "commit_id", "ledger_commit"),
        SameAccountForeignKey("knowledge_lorebookentry", "source_id", "knowledge_knowledgesource"),
        SameAccountForeignKey("knowledge_erasedknowledge", "commit_id", "ledger_commit"),
    ]
