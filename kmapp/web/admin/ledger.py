"""Admin of the ledger. `manage.py fsck` verifies it."""

from django.contrib import admin

from kmapp.ledger.models import Checkpoint, Commit, Note, Seal
from kmapp.web.admin.base import ReadOnlyAdmin


@admin.register(Commit)
class CommitAdmin(ReadOnlyAdmin):
    """Commits, newest first."""

    list_display = ("seq", "commit_hash", "actor", "created_at")
    search_fields = ("=seq", "^commit_hash", "actor")
    date_hierarchy = "created_at"
    ordering = ("-seq",)


@admin.register(Seal)
class SealAdmin(ReadOnlyAdmin):
    """Objects sealed by each commit."""

    list_display = ("commit", "object_type", "object_id", "op")
    list_filter = ("object_type", "op")
    list_select_related = ("commit",)
    search_fields = ("=object_id",)
    date_hierarchy = "commit__created_at"
    ordering = ("-commit__seq",)
    hidden_fields = ("account", "salt")


@admin.register(Note)
class NoteAdmin(ReadOnlyAdmin):
    """Inputs and reasons of commits."""

    list_display = ("commit", "commit__actor", "commit__created_at", "reason")
    list_select_related = ("commit",)
    search_fields = ("reason",)
    date_hierarchy = "commit__created_at"
    ordering = ("-commit__seq",)
    hidden_fields = ("account", "salt")


@admin.register(Checkpoint)
class CheckpointAdmin(ReadOnlyAdmin):
    """Signed heads of the chain."""

    list_display = ("seq", "commit_hash", "created_at", "key_id")
    list_filter = ("key_id",)
    search_fields = ("=seq", "^commit_hash")
    date_hierarchy = "created_at"
    ordering = ("-seq",)
