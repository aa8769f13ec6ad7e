"""The URLs of the API of repositories."""

from django.urls import path

from paca.repositories.api import views

urlpatterns = [
    path(
        "projects/<uuid:project>/git-connections/",
        views.GitConnectionList.as_view(),
        name="git-connections",
    ),
    path(
        "projects/<uuid:project>/git-connections/<uuid:connection_id>/",
        views.GitConnectionDetail.as_view(),
        name="git-connection",
    ),
    path(
        "projects/<uuid:project>/repositories/",
        views.RepositoryList.as_view(),
        name="repositories",
    ),
    path(
        "projects/<uuid:project>/repositories/<uuid:repository_id>/",
        views.RepositoryDetail.as_view(),
        name="repository",
    ),
    path(
        "projects/<uuid:project>/repositories/<uuid:repository_id>/test/",
        views.CheckRepository.as_view(),
        name="repository-test",
    ),
    path(
        "projects/<uuid:project>/repositories/<uuid:repository_id>/webhook-secret/",
        views.WebhookSecret.as_view(),
        name="repository-webhook-secret",
    ),
    path(
        "projects/<uuid:project>/agents/<uuid:agent_id>/repositories/",
        views.RepositoriesOfAgent.as_view(),
        name="agent-repositories",
    ),
]
