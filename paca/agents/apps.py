"""The app of agents and their settings."""

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    name = "paca.agents"
    label = "agents"
    verbose_name = "Agents"
