"""The URLs of the API of repositories."""

from django.urls import path

from paca.repositories.api import skills, views

SKILLS = "projects/<uuid:project>/agents/<uuid:agent_id>/skills/"

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
    path(f"{SKILLS}git/look/", skills.LookForSkills.as_view(), name="skill-source-look"),
    path(f"{SKILLS}git/import/", skills.ImportSkills.as_view(), name="skill-source-import"),
    path(f"{SKILLS}<uuid:skill_id>/check/", skills.CheckSkill.as_view(), name="skill-check"),
    path(f"{SKILLS}<uuid:skill_id>/update/", skills.UpdateSkill.as_view(), name="skill-update"),
]
