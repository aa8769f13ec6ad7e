"""People, their tokens and the record of what they changed."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "paca.accounts"
    label = "accounts"
    verbose_name = "People"
