"""The app of workspaces, projects, roles and members."""

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    name = "paca.projects"
    label = "projects"
    verbose_name = "Projects"
