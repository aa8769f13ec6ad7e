"""Skills from git: what a commit of a repository has, which of it an agent takes, and whether there is something newer."""
