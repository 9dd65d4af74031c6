"""Answers stay inside their account."""

from django.db import migrations

from kmapp.accounts.row_level_security import EnableRowLevelSecurity


class Migration(migrations.Migration):
    dependencies = [("api", "0001_initial"), ("kmapp", "0002_doors")]
    operations = [EnableRowLevelSecurity("api_idempotentrequest")]
