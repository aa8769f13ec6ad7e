"""API views of the signed-in person's own tokens."""

from datetime import timedelta
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts import permission_patterns
from paca.accounts.api.base import ApiView
from paca.accounts.models import ApiToken
from paca.accounts.services import tokens
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.serializers import InputSerializer
from paca.common.errors import NotAllowed, NotFound


class SessionRequired(NotAllowed):
    """Only a signed-in person can make tokens: a stolen token must not be able to make another one."""

    code = "only_by_hand"


class TokenSerializer(serializers.ModelSerializer[ApiToken]):
    """A token without its secret."""

    begins_with = serializers.CharField(source="token_key")
    expires_at = serializers.DateTimeField(source="expiry", allow_null=True)
    scopes = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = ApiToken
        fields = ("id", "name", "begins_with", "scopes", "created_at", "expires_at", "last_used_at")


class NewTokenSerializer(TokenSerializer):
    """A new token. Its secret is shown only here."""

    token = serializers.SerializerMethodField()

    class Meta(TokenSerializer.Meta):
        fields = (*TokenSerializer.Meta.fields, "token")  # type: ignore[assignment]

    def get_token(self, _token: ApiToken) -> str:
        secret: str = self.context["secret"]
        return secret


class TokenInput(InputSerializer):
    """The input for a new token."""

    name = serializers.CharField(max_length=100)
    scopes = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        max_length=len(permission_patterns.PATTERNS),
        help_text="Permissions such as conversations:write. Without any: all that you may do.",
    )
    lasts_days = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=tokens.MAX_LIFETIME_DAYS,
        help_text="Without: until it is revoked.",
    )


class TokenList(ApiView):
    """Lists and makes tokens."""

    @extend_schema(responses=TokenSerializer(many=True), tags=["tokens"])
    def get(self, request: Request) -> Response:
        """List your tokens, the newest first."""
        return NewestFirstPagination.page_response(
            ApiToken.objects.owned_by(self.person), self, TokenSerializer
        )

    @extend_schema(request=TokenInput, responses={201: NewTokenSerializer}, tags=["tokens"])
    def post(self, request: Request) -> Response:
        """Make a token. Only this answer holds its secret."""
        if self.token is not None:
            raise SessionRequired
        given = TokenInput.read(request)
        days = given.pop("lasts_days", None)
        lifetime = timedelta(days=days) if days else None
        token, secret = tokens.create(self.person, lifetime=lifetime, by=self.person, **given)
        return Response(NewTokenSerializer(token, context={"secret": secret}).data, status=201)


class TokenDetail(ApiView):
    """Revokes a token."""

    @extend_schema(responses={204: None}, tags=["tokens"])
    def delete(self, request: Request, token_id: UUID) -> Response:
        """Revoke a token. It stops working at once."""
        try:
            token = ApiToken.objects.owned_by(self.person).select_related("user").get(pk=token_id)
        except ApiToken.DoesNotExist:
            raise NotFound from None
        tokens.revoke(token, by=self.person)
        return Response(status=204)
