"""The REST API of repositories and connections to git servers."""
