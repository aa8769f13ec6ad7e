"""What can be done with workspaces, projects, roles and members."""
