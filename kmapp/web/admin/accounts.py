"""Admin of users, accounts, members and keys. Members and keys change through actions only."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth import admin as auth
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.actions import add_member, revoke_key
from kmapp.accounts.models import Account, ApiKey, Invitation, Membership, User
from kmapp.accounts.permissions import Permission
from kmapp.web.admin.base import ReadOnlyAdmin
from kmapp.web.after_commit import AfterCommitResponse
from kmapp.web.http import as_web_request

if TYPE_CHECKING:
    StockUserAdmin = auth.UserAdmin[User]
else:
    StockUserAdmin = auth.UserAdmin

RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")
LOGIN = ("username", "email", "is_active")  # identity fields, which affect all accounts of a person


@admin.register(User)
class UserAdmin(StockUserAdmin):
    list_display = ("username", "email", "first_name", "last_name", "is_active", "is_staff")
    list_filter = ("is_active", "is_staff", "language")
    search_fields = ("username", "email", "first_name", "last_name")
    date_hierarchy = "date_joined"
    fieldsets = (
        *(StockUserAdmin.fieldsets or ()),
        (_("Preferences"), {"fields": ("language", "theme", "keyboard_shortcuts")}),
    )
    add_fieldsets = (
        (None, {"fields": ("username", "email", "usable_password", "password1", "password2")}),
    )

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Add a user. If a concurrent request adds the same user, the form reports it."""
        try:
            with transaction.atomic():
                return super().add_view(request, form_url, extra_context)
        except IntegrityError:  # the validation of the form finds the other one now
            return super().add_view(request, form_url, extra_context)

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        members = Membership.objects.of(as_web_request(request).account_id)
        return super().get_queryset(request).filter(pk__in=members.values("user"))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Let only superusers grant permissions and change the login of others."""
        stock, user = super().get_readonly_fields(request, obj), as_web_request(request).user
        if user.is_superuser:
            return stock
        others = obj is not None and obj.pk != user.pk
        return (*stock, *RIGHTS, *LOGIN) if others else (*stock, *RIGHTS)

    def has_add_permission(self, request: HttpRequest) -> bool:
        is_admin = Permission.MEMBERS in as_web_request(request).permissions
        return is_admin and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        above = (
            obj is not None and obj.is_superuser and not as_web_request(request).user.is_superuser
        )
        return not above and super().has_change_permission(request, obj)

    def user_change_password(
        self,
        request: HttpRequest,
        id: str,  # noqa: A002 - Django's name
        form_url: str = "",
    ) -> HttpResponse:
        """Require a superuser, because a password gives access to all accounts of a person."""
        if not as_web_request(request).user.is_superuser:
            raise PermissionDenied
        return super().user_change_password(request, id, form_url)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid deletion: the ledger references people. Make them inactive instead."""
        return False

    def save_model(
        self, request: HttpRequest, obj: User, form: "ModelForm[User]", change: Any
    ) -> None:
        if not change:
            obj.has_initial_password = True
        super().save_model(request, obj, form, change)
        if not change:
            add_member(
                account_id=as_web_request(request).account_id,
                user=obj,
                role=Membership.Role.REVIEWER,
                actor=as_web_request(request).actor,
            )


@admin.register(Account)
class AccountAdmin(ReadOnlyAdmin):
    list_display = ("name", "slug", "account_wide", "created_at")
    search_fields = ("name", "slug")


@admin.register(Membership)
class MembershipAdmin(ReadOnlyAdmin):
    list_display = ("user", "role", "created_at")
    list_filter = ("role",)
    search_fields = ("user__username", "user__email")


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    list_display = ("email", "role", "created_at", "expires_at", "accepted_at", "revoked_at")
    list_filter = ("role",)
    search_fields = ("email",)


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    list_display = (
        "name",
        "prefix",
        "scopes",
        "created_at",
        "expires_at",
        "revoked_at",
        "last_used_at",
    )
    list_filter = (("revoked_at", admin.EmptyFieldListFilter),)
    search_fields = ("name", "prefix")
    hidden_fields = ("account", "hash")
    actions = ("revoke",)

    @admin.action(description=_("Revoke permanently"), permissions=["manage"])
    def revoke(self, request: HttpRequest, rows: QuerySet[ApiKey]) -> AfterCommitResponse | None:
        return self.apply_to_each(
            request, rows, lambda key: revoke_key(key, actor=as_web_request(request).actor)
        )
