"""Writes of repositories, of connections to git servers and of their webhooks."""
