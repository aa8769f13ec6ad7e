"""Services for workspaces, projects, roles and members."""
