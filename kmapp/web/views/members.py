"""Members of the account and their roles."""

from collections.abc import Collection
from datetime import timedelta
from urllib.parse import urlencode
from uuid import UUID

from allauth.account.adapter import get_adapter
from django.core import signing
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters

from kmapp.accounts.actions import add_member, change_role
from kmapp.accounts.company_sign_in.actions import remove_and_disconnect
from kmapp.accounts.models import Membership, User, list_account_access
from kmapp.accounts.permissions import ROLE_PERMISSIONS, Permission
from kmapp.accounts.second_factor import (
    find_people_with_factor,
    remove_second_factor,
    require_second_factor,
)
from kmapp.errors import Denied, Invalid
from kmapp.web.account_forms import MemberForm
from kmapp.web.http import WebRequest, paginate
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_page, redirect_with_notice, render_form
from kmapp.web.sessions import end_sessions
from kmapp.web.views.invitations import list_open_invitations

REMOVED = "kmapp.web.removed_member"
UNDO_TIME = timedelta(hours=1)


@page_view("GET", needs=Permission.MEMBERS)
def members(request: WebRequest) -> HttpResponse:
    rows = Membership.objects.of(request.account_id).select_related("user")
    page = paginate(request, rows.order_by("role", "user__email"))
    context = {
        "page": page,
        "roles": Membership.Role,
        "invitations": list_open_invitations(request.account_id),
        "with_factor": find_people_with_factor([member.user_id for member in page]),
    }
    return render(request, "web/members/index.html", context)


@page_view("GET")
def roles(request: WebRequest) -> HttpResponse:
    """Show what each role may do, from the table that the checks of pages read."""
    rows = [
        (permission, [(role, permission in ROLE_PERMISSIONS[role]) for role in Membership.Role])
        for permission in Permission
    ]
    context = {"roles": Membership.Role, "rows": rows}
    return render(request, "web/members/roles.html", context)


@page_view("GET", "POST", needs=Permission.MEMBERS)
def second_factor(request: WebRequest) -> HttpResponse:
    """Set whether all members need a second factor."""
    if request.method != "POST":
        people = list(Membership.objects.of(request.account_id).values_list("user_id", flat=True))
        context = {
            "members": len(people),
            "ready": find_people_with_factor(people),
            "required": request.access.require_second_factor,
        }
        return render(request, "web/members/second_factor.html", context)
    required = request.POST.get("required") == "yes"
    require_second_factor(request.account_id, required=required, actor=request.actor)
    text = _("Members need a second factor.") if required else _("A second factor is optional.")
    return redirect_with_notice(request, text, "web:members")


@page_view("GET", "POST", needs=Permission.MEMBERS)
def reset_factor(request: WebRequest, pk: UUID) -> HttpResponse:
    """Remove the second factor of another member who lost it.

    One's own is removed on the page that asks for the password, a code or a passkey first.
    """
    member = _get_member(request, pk)
    if member.user_id == request.user.pk:
        return redirect_page(request, reverse("mfa_index"))
    if member.user.manages_installation and not request.user.is_superuser:
        raise Denied(_("Only the owner of this installation can do this."))
    if not _is_managed(request, member.user):
        raise Denied(_("This person is a member of other accounts. Ask the owner of kmapp."))
    if request.method != "POST":
        return render(request, "web/members/reset_factor.html", {"member": member})
    remove_second_factor(member, actor=request.actor)
    end_sessions(member.user)
    get_adapter(request).send_notification_mail("account/email/factor_removed", member.user)
    return redirect_with_notice(
        request,
        _("%(who)s signs in with the password alone.") % {"who": member.user.email},
        "web:members",
    )


@sensitive_post_parameters("password")
@page_view("GET", "POST", needs=Permission.MEMBERS)
def add(request: WebRequest) -> HttpResponse:
    form = MemberForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = _find_or_create_user(request, form)
        if user is not None:
            role = form.cleaned_data["role"]
            add_member(account_id=request.account_id, user=user, role=role, actor=request.actor)
            return redirect_with_notice(
                request, _("%(who)s can now sign in.") % {"who": user.email}, "web:members"
            )
    return render_form(request, "web/members/form.html", {"form": form}, invalid=form.is_bound)


def _find_or_create_user(request: WebRequest, form: MemberForm) -> User | None:
    """Return the person with this address; create one if a first password is set.

    Someone else may have chosen the password of a login created elsewhere, so only a login that
    the admin could have created is accepted. The error does not reveal whether a login exists.
    """
    email, password = form.cleaned_data["email"].lower(), form.cleaned_data["password"]
    matches = User.objects.filter(Q(email__iexact=email) | Q(username__iexact=email))
    user = matches.first()
    if user is None and password:
        if created := _create_user(email, password, form):
            return created
        user = matches.first()  # created by a concurrent request
    if user is not None and _is_managed(request, user):
        return user
    if not password:
        form.add_error("password", _("This is a new user. Enter an initial password."))
    else:
        form.add_error("email", _("This e-mail address cannot be added. Use another one."))
    return None


def _create_user(email: str, password: str, form: MemberForm) -> User | None:
    """Create a person; return None if the address has been taken meanwhile."""
    name = form.cleaned_data["name"]
    try:
        with transaction.atomic():
            return User.objects.create_user(
                email, email, password, first_name=name, has_initial_password=True
            )
    except IntegrityError:
        return None


def _is_managed(request: WebRequest, user: User) -> bool:
    """Return whether the requester administers all accounts of this person, or is a superuser.

    A login without any account is not managed by anyone: it is unknown who created it.
    """
    accounts = {access.account_id for access in list_account_access(user)}
    managed = {
        access.account_id for access in request.accesses if access.role == Membership.Role.ADMIN
    }
    return request.user.is_superuser or (bool(accounts) and accounts <= managed)


@page_view("POST", needs=Permission.MEMBERS)
def role(request: WebRequest, pk: UUID) -> HttpResponse:
    """Change the role of a member. The URL of an undo has the values as query parameters."""
    member = _get_member(request, pk)
    values = request.POST if "role" in request.POST else request.GET
    value = values.get("role", "")
    if value not in Membership.Role.values:
        raise Invalid(_("Choose one of the roles."))
    new_role = Membership.Role(value)
    change_role(member, role=new_role, actor=request.actor, former=values.get("former", ""))
    page = _find_next_page(request, member, ROLE_PERMISSIONS[new_role])
    undo = ""
    if values is request.POST and new_role != member.role and page == "web:members":
        query = urlencode({"role": member.role, "former": new_role})
        undo = f"{reverse('web:member_role', args=[pk])}?{query}"
    text = _("%(who)s: %(role)s") % {"who": member.user.email, "role": new_role.label}
    return redirect_page(request, reverse(page), notice=text, undo=undo)


@page_view("GET", "POST", needs=Permission.MEMBERS)
def remove(request: WebRequest, pk: UUID) -> HttpResponse:
    member = _get_member(request, pk)
    if request.method != "POST":
        return render(request, "web/members/confirm.html", {"member": member})
    token = signing.dumps([str(member.account_id), str(member.user_id), member.role], salt=REMOVED)
    remove_and_disconnect(member, actor=request.actor)
    may_undo = member.user_id != request.user.pk
    return redirect_with_notice(
        request,
        _("%(who)s no longer has access to this account.") % {"who": member.user.email},
        _find_next_page(request, member, ()),
        undo=reverse("web:member_restore", args=[token]) if may_undo else "",
    )


def _find_next_page(
    request: WebRequest, member: Membership, permissions: Collection[Permission]
) -> str:
    """Return the list of members, or home for a person who may no longer open the list."""
    is_own = member.user_id == request.user.pk
    return "web:home" if is_own and Permission.MEMBERS not in permissions else "web:members"


@page_view("POST", needs=Permission.MEMBERS)
def restore(request: WebRequest, token: str) -> HttpResponse:
    """Undo the removal of a member: add the same person with the same role again."""
    try:
        account, person, role = signing.loads(token, salt=REMOVED, max_age=UNDO_TIME)
    except signing.BadSignature as error:
        raise Http404 from error
    if account != str(request.account_id):
        raise Http404
    user = get_object_or_404(User, pk=person)
    add_member(account_id=request.account_id, user=user, role=role, actor=request.actor)
    text = _("%(who)s is a member again.") % {"who": user.email}
    return redirect_page(request, reverse("web:members"), notice=text)


def _get_member(request: WebRequest, pk: UUID) -> Membership:
    rows = Membership.objects.of(request.account_id).select_related("user")
    return get_object_or_404(rows, pk=pk)
