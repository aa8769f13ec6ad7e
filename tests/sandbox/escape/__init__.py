"""Attempts to get out of a sandbox, as data, and the weak sandbox in which they must succeed."""
