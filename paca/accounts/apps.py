"""The app of people, API tokens and the audit trail."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "paca.accounts"
    label = "accounts"
    verbose_name = "People"
