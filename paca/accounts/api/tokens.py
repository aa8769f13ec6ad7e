"""The signed-in person's own API tokens."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts import permission_patterns
from paca.accounts.api.base import ApiView
from paca.accounts.models import ApiToken
from paca.accounts.services import tokens
from paca.common.api.pagination import Pages
from paca.common.api.serializers import Input
from paca.common.errors import NotAllowed, NotFound


class OnlyByHand(NotAllowed):
    """Tokens are made by a signed-in person, not by a token: a stolen one must not outlive itself."""

    code = "only_by_hand"


class TokenSerializer(serializers.ModelSerializer[ApiToken]):
    """A token without its secret."""

    begins_with = serializers.CharField(source="token_key")
    expires_at = serializers.DateTimeField(source="expiry")
    scopes = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = ApiToken
        fields = ("id", "name", "begins_with", "scopes", "created_at", "expires_at", "last_used_at")


class NewTokenSerializer(TokenSerializer):
    """A token just made: the only time its secret is shown."""

    token = serializers.CharField()

    class Meta(TokenSerializer.Meta):
        fields = (*TokenSerializer.Meta.fields, "token")  # type: ignore[assignment]


class TokenInput(Input):
    """What a new token needs."""

    name = serializers.CharField(max_length=100)
    scopes = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        max_length=len(permission_patterns.PATTERNS),
        help_text="Rights such as conversations:write. None: all that you may do.",
    )
    lasts_days = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=tokens.A_CENTURY_OF_DAYS,
        help_text="None: until revoked.",
    )


class Tokens(ApiView):
    """The person's tokens."""

    @extend_schema(responses=TokenSerializer(many=True), tags=["tokens"])
    def get(self, request: Request) -> Response:
        """List your tokens, the newest first."""
        return Pages.answer(ApiToken.objects.of(self.person), self, TokenSerializer)

    @extend_schema(request=TokenInput, responses={201: NewTokenSerializer}, tags=["tokens"])
    def post(self, request: Request) -> Response:
        """Make a token. Its secret is in this answer and nowhere else."""
        if self.token is not None:
            raise OnlyByHand
        given = TokenInput.read(request)
        days = given.pop("lasts_days", None)
        lasts = timedelta(days=days) if days else None
        token, secret = tokens.create(self.person, lasts=lasts, by=self.person, **given)
        shown: dict[str, Any] = {**TokenSerializer(token).data, "token": secret}
        return Response(shown, status=201)


class Token(ApiView):
    """One of the person's tokens."""

    @extend_schema(responses={204: None}, tags=["tokens"])
    def delete(self, request: Request, token_id: UUID) -> Response:
        """Revoke it; it stops working at once."""
        try:
            token = ApiToken.objects.of(self.person).select_related("user").get(pk=token_id)
        except ApiToken.DoesNotExist:
            raise NotFound from None
        tokens.revoke(token, by=self.person)
        return Response(status=204)
