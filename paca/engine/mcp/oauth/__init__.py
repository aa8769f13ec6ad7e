"""The sign-in to MCP servers by OAuth 2.1: authorization code with PKCE, registration and refresh.

Each function takes the guarded HTTP client of the server, so that no address in any metadata leads where the
server itself may not be. It follows no redirects.
"""
