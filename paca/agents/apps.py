"""The agents of a project and how each is set up."""

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    name = "paca.agents"
    label = "agents"
    verbose_name = "Agents"
