"""The addresses of pages, below the root of the server, as the API and notifications name them."""

from uuid import UUID


def of_task(project_id: UUID, number: int | str, *, comment_id: UUID | None = None) -> str:
    """The page of a task, at a comment on it."""
    return f"/projects/{project_id}/tasks/{number}/{_at(comment_id)}"


def of_doc(project_id: UUID, doc_id: UUID | str, *, comment_id: UUID | None = None) -> str:
    """The page of a doc, at a comment on it."""
    return f"/projects/{project_id}/docs/{doc_id}/{_at(comment_id)}"


def of_conversation(project_id: UUID, conversation_id: UUID | str) -> str:
    """The page of a conversation."""
    return f"/projects/{project_id}/conversations/{conversation_id}/"


def _at(comment_id: UUID | None) -> str:
    return "" if comment_id is None else f"#comment-{comment_id}"
