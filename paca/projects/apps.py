"""Workspaces, projects, and who belongs to them."""

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    name = "paca.projects"
    label = "projects"
    verbose_name = "Projects"
