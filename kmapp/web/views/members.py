"""Who may enter the account, and as what."""

from http import HTTPStatus
from uuid import UUID

from django.core.paginator import Paginator
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kmapp.accounts.actions import add_member, change_role, remove_member
from kmapp.accounts.models import Membership, User, list_account_access
from kmapp.errors import Invalid
from kmapp.web.forms import MemberForm
from kmapp.web.http import WebRequest, account_id_for, actor_for
from kmapp.web.notices import tell
from kmapp.web.page_access import admin_required


@require_safe
@admin_required
def members(request: WebRequest) -> HttpResponse:
    rows = Membership.objects.of(account_id_for(request)).select_related("user")
    page = Paginator(rows.order_by("role", "user__email"), 50).get_page(request.GET.get("page"))
    return render(request, "web/members/index.html", {"page": page})


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
@admin_required
def add(request: WebRequest) -> HttpResponse:
    form = MemberForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = _person(request, form)
        if user is not None:
            add_member(
                account_id=account_id_for(request),
                user=user,
                role=form.cleaned_data["role"],
                actor=actor_for(request),
            )
            tell(request, _("%(who)s may sign in now.") % {"who": user.email})
            return redirect("web:members")
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    return render(request, "web/members/form.html", {"form": form}, status=status)


def _person(request: WebRequest, form: MemberForm) -> User | None:
    """The person with this address, made if there is none and a first password was given.

    Somebody may have chosen the password of a login made elsewhere, so only one that the admin
    could have made is let in. A refusal does not tell whether there is such a login.
    """
    email, password = form.cleaned_data["email"].lower(), form.cleaned_data["password"]
    named = User.objects.filter(Q(email__iexact=email) | Q(username__iexact=email))
    known = named.first()
    if known is None and password:
        if made := _made(email, password, form):
            return made
        known = named.first()  # somebody added the same at this moment
    if known is not None and _is_ours(request, known):
        return known
    if not password:
        form.add_error("password", _("This address needs a first password."))
    else:
        form.add_error("email", _("This address cannot be added here: use another."))
    return None


def _made(email: str, password: str, form: MemberForm) -> User | None:
    """A new person; None if there is one with this address by now."""
    name = form.cleaned_data["name"]
    try:
        with transaction.atomic():
            return User.objects.create_user(email, email, password, first_name=name)
    except IntegrityError:
        return None


def _is_ours(request: WebRequest, user: User) -> bool:
    """Whether all their accounts are administered by the person who asks, or that is the operator.

    A login without any account is nobody's: who made it is not known.
    """
    theirs = {access.account_id for access in list_account_access(user)}
    managed = {
        access.account_id for access in request.accesses if access.role == Membership.Role.ADMIN
    }
    return request.user.is_superuser or (bool(theirs) and theirs <= managed)


@require_POST
@admin_required
def role(request: WebRequest, pk: UUID) -> HttpResponse:
    member = _member(request, pk)
    said = request.POST.get("role", "")
    if said not in Membership.Role.values:
        raise Invalid(_("Choose a role: reviewer or admin."))
    wanted = Membership.Role(said)
    change_role(member, role=wanted, actor=actor_for(request))
    tell(request, _("%(who)s: %(role)s") % {"who": member.user.email, "role": wanted.label})
    return redirect("web:members")


@require_http_methods(["GET", "HEAD", "POST"])
@admin_required
def remove(request: WebRequest, pk: UUID) -> HttpResponse:
    member = _member(request, pk)
    if request.method != "POST":
        return render(request, "web/members/confirm.html", {"member": member})
    remove_member(member, actor=actor_for(request))
    tell(request, _("%(who)s may no longer enter this account.") % {"who": member.user.email})
    return redirect("web:members")


def _member(request: WebRequest, pk: UUID) -> Membership:
    rows = Membership.objects.of(account_id_for(request)).select_related("user")
    return get_object_or_404(rows, pk=pk)
