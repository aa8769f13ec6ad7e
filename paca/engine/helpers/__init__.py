"""Helpers: pieces of work that an agent gives to other conversations of its own, in parallel."""
