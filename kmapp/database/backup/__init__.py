"""Backups of the whole database and its checkpoints in one file, complete or absent.

`dump` writes the file and restores it into an empty database; `rehearse` restores it next to the
live database and compares both. PostgreSQL's own programs transfer the rows.
"""


class BackupError(Exception):
    """An error for the person at the terminal."""
