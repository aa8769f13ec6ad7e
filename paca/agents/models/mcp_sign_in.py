"""Sign-ins to MCP servers with OAuth: those that people have begun, and the tokens of those that they finished."""

from __future__ import annotations

from django.db import models

from paca.accounts.models import User
from paca.agents.models.mcp_server import McpServer


class McpGrant(models.Model):
    """The tokens of one server, and where they came from. They are sent to no other address.

    ``renewal`` names the refresh that is going on until ``renewal_until``: the refresh token is used by that one only.
    ``lost_reason`` says why a person has to sign in again.
    """

    server = models.OneToOneField(
        McpServer, on_delete=models.CASCADE, primary_key=True, related_name="grant"
    )
    by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    issuer = models.TextField()
    token_endpoint = models.TextField()
    resource = models.TextField()
    client_id = models.TextField()
    token_auth = models.CharField(max_length=30)
    encrypted_client_secret = models.TextField(blank=True)
    encrypted_access_token = models.TextField(blank=True)
    encrypted_refresh_token = models.TextField(blank=True)
    scope = models.TextField(blank=True)
    expires_at = models.DateTimeField(null=True)
    granted_at = models.DateTimeField()
    renewal = models.UUIDField(null=True)
    renewal_until = models.DateTimeField(null=True)
    lost_reason = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"grant of {self.server_id}"


class McpSignIn(models.Model):
    """A sign-in that a person has begun. The row is deleted when the person comes back, so ``state`` works once.

    ``state_hash`` is the sha256 of the state in the address, ``session_hash`` that of the person's session.
    ``encrypted_flow`` holds what the end needs, with the PKCE verifier, as JSON.
    """

    id = models.BigAutoField(primary_key=True)
    state_hash = models.CharField(max_length=64, unique=True)
    session_hash = models.CharField(max_length=64)
    server = models.ForeignKey(McpServer, on_delete=models.CASCADE, related_name="sign_ins")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    encrypted_flow = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"sign-in to {self.server_id}"
