"""Base classes of the Django admin: rows are read-only and change through actions."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.db import models, transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kmapp.accounts.permissions import Permission
from kmapp.errors import DomainError
from kmapp.web.after_commit import AfterCommit, AfterCommitResponse
from kmapp.web.http import as_web_request

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin

MAX_ROWS_PER_ACTION = 100  # for one request: each row is a commit of its own


class ReadOnlyAdmin(ModelAdmin):
    """Shows rows, of one account where rows have one, without their `hidden_fields`."""

    show_full_result_count = False
    list_per_page = 50
    date_hierarchy: ClassVar[str | None] = "created_at"
    hidden_fields: Sequence[str] = ("account",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows of the selected account; row-level security enforces it too."""
        rows = super().get_queryset(request)
        if any(field.name == "account" for field in self.opts.concrete_fields):
            rows = rows.filter(account_id=as_web_request(request).account_id)
        return rows

    def get_list_select_related(self, request: HttpRequest) -> list[str]:
        keys = {field.name for field in self.opts.concrete_fields if field.is_relation}
        return [name for name in self.list_display if name in keys]

    def get_fields(self, request: HttpRequest, obj: models.Model | None = None) -> list[Any]:
        """Return all columns, including those that no form offers."""
        fields = self.opts.concrete_fields
        return [field.name for field in fields if field.name not in self.hidden_fields]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return self.get_fields(request, obj)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Forbid filters by hidden columns: `?text__startswith=…` would reveal their content."""
        is_hidden = lookup.partition("__")[0] in self.hidden_fields
        return not is_hidden and super().lookup_allowed(lookup, value, request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission

    def has_review_permission(self, request: HttpRequest) -> bool:
        return Permission.REVIEW in as_web_request(request).permissions

    def has_edit_permission(self, request: HttpRequest) -> bool:
        return Permission.EDIT in as_web_request(request).permissions

    def has_manage_permission(self, request: HttpRequest) -> bool:
        return Permission.OPERATE in as_web_request(request).permissions

    def apply_to_each(
        self, request: HttpRequest, rows: QuerySet[Any], action: Callable[[Any], object]
    ) -> AfterCommitResponse | None:
        """Apply an action to each row; report errors and continue with the next row."""
        if rows.count() > MAX_ROWS_PER_ACTION:
            text = _("Nothing was changed. Select at most %(n)d rows at a time.") % {
                "n": MAX_ROWS_PER_ACTION
            }
            self.message_user(request, text, messages.WARNING)
            return None
        remaining = iter(list(rows))
        return AfterCommitResponse(
            AfterCommit(lambda: self._apply_to_next(request, remaining, action))
        )

    def _apply_to_next(
        self,
        request: HttpRequest,
        rows: Iterator[Any],
        action: Callable[[Any], object],
        done: int = 0,
    ) -> HttpResponseBase | AfterCommit:
        """Process one row per transaction, so that no lock is held while others are processed."""
        row = next(rows, None)
        if row is None:
            if done:
                self.report_changed(request, done)
            return redirect(request.get_full_path())
        try:
            with transaction.atomic():
                action(row)
            done += 1
        except DomainError as error:
            self.message_user(request, f"{row}: {error.message}", messages.WARNING)
        return AfterCommit(lambda: self._apply_to_next(request, rows, action, done))

    def report_changed(self, request: HttpRequest, number: int) -> None:
        text = ngettext("%(n)d row was changed.", "%(n)d rows were changed.", number)
        level = messages.SUCCESS if number else messages.WARNING
        self.message_user(request, text % {"n": number}, level)


class NewestFirstAdmin(ReadOnlyAdmin):
    ordering = ("-created_at", "-pk")
