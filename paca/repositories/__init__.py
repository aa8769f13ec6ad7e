"""Git repositories that are linked to projects, and the git servers that they are on."""
