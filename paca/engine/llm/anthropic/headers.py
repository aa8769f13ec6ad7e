"""The headers of the Messages API: its version, and how a key is sent."""

from __future__ import annotations

HOST = "https://api.anthropic.com"
# The version that the encoder and the reader of the stream are written for. A test compares what is sent with what
# Anthropic's SDK sends. The SDK itself is not used: its import takes seconds and 57 MB, and these lines were all of it.
API_VERSION = "2026-10-21"


def with_key(key: str) -> dict[str, str]:
    """The headers of a request with this key."""
    return {
        "Accept": "application/json",
        "Content-Type": "application/json",
        "Authorization": f"Bearer {key}",
        "anthropic-version": API_VERSION,
    }
