"""Mutation tests: each guard is removed in turn, and a test must fail without it."""
