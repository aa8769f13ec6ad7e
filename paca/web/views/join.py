"""The page of an invitation: a person who is signed in joins, anybody else makes an account first."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib.auth import login
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_http_methods

from paca.accounts import known_devices
from paca.accounts import services as accounts
from paca.accounts.models import User
from paca.common.errors import Invalid
from paca.projects.models import Invitation
from paca.projects.services import invitations
from paca.projects.services.invitations import InvitationNotUsable

PASSWORD = forms.PasswordInput(attrs={"autocomplete": "new-password"})


class AccountForm(forms.Form):
    """A new account."""

    username = forms.CharField(
        max_length=64, widget=forms.TextInput(attrs={"autocomplete": "username"})
    )
    name = forms.CharField(
        max_length=150,
        required=False,
        label="Your name",
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    password = forms.CharField(widget=PASSWORD, max_length=200, strip=False)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@csrf_protect
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """GET only shows the page, because programs open links to preview them. POST uses the link up."""
    try:
        invitation = invitations.get_usable(secret)
        if request.method != "POST":
            return _page(request, invitation, AccountForm())
        if request.user.is_authenticated:
            return _join_as_present_person(request, invitation, secret)
        return _join_as_new_person(request, invitation, secret)
    except InvitationNotUsable:
        return render(request, "web/join.html", {"invitation": None}, status=404)


def _join_as_present_person(
    request: HttpRequest, invitation: Invitation, secret: str
) -> HttpResponse:
    assert isinstance(request.user, User)
    try:
        return _joined(invitations.accept(secret, user=request.user))
    except Invalid as invalid:
        return _page(request, invitation, AccountForm(), problems=_texts(invalid))


def _join_as_new_person(request: HttpRequest, invitation: Invitation, secret: str) -> HttpResponse:
    form = AccountForm(request.POST)
    if not form.is_valid():
        return _page(request, invitation, form)
    try:
        person = _create_and_accept(secret, **form.cleaned_data)
    except Invalid as invalid:
        for field, texts in invalid.fields.items():
            form.add_error(field if field in form.fields else None, texts)
        return _page(request, invitation, form)
    login(request, person, backend="django.contrib.auth.backends.ModelBackend")
    response = _joined(invitation)
    known_devices.remember(request, response, person)
    return response


# One transaction: an invitation that was used meanwhile leaves no account behind.
@transaction.atomic
def _create_and_accept(secret: str, **account: Any) -> User:
    person = accounts.create_person(**account)
    invitations.accept(secret, user=person)
    return person


def _joined(invitation: Invitation) -> HttpResponse:
    if invitation.project_id is not None:
        return redirect("overview", project=invitation.project_id)
    return redirect("home")


def _texts(invalid: Invalid) -> list[str]:
    return [text for texts in invalid.fields.values() for text in texts] or [invalid.detail]


def _page(
    request: HttpRequest, invitation: Invitation, form: AccountForm, problems: Sequence[str] = ()
) -> HttpResponse:
    context = {
        "invitation": invitation,
        "form": form,
        "problems": problems,
        "sign_in": f"{reverse('account_login')}?next={request.path}",
    }
    return render(request, "web/join.html", context)
