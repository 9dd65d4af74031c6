"""Backups of the whole database and its checkpoints in one file, complete or absent.

`making` writes the file, `restoring` reads it back into an empty database; `rehearsing` does that
beside the live one and compares. PostgreSQL's own programs carry the rows.
"""


class BackupError(Exception):
    """A reason for the person at the terminal."""
