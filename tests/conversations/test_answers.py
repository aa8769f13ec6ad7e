"""The final answer of a turn that answers an assignment or a mention becomes one comment of the agent."""

import pytest

from paca import events
from paca.conversations import deletion, services, store
from paca.conversations.models import Conversation
from paca.conversations.services import answers
from paca.engine.turn import TurnOutcome
from paca.projects.models import KeyedWrite, Notification, Project
from paca.projects.models.comment import MAX_COMMENT_CHARACTERS
from paca.projects.services import comments, tasks
from paca.worker import claim, turn_end
from tests.conversations.chat import bash_call
from tests.conversations.team import ANSWERED, Team

pytestmark = pytest.mark.django_db

PAUSED = TurnOutcome("paused", "step_limit", "It took 50 steps.")
FAILED = TurnOutcome("failed", "configuration", "The key sk-secret is wrong.")


@pytest.fixture
def team() -> Team:
    return Team()


def test_answer_to_an_assignment_becomes_the_comment_of_the_agent(team):
    team.assign()
    ended = team.run_turn("I have fixed it.")
    assert ended.status == "finished"
    assert team.said == [("Rosa", "I have fixed it.")]
    comment = team.task.comments.get()
    assert (comment.parent, comment.conversation_id) == (None, ended.pk)
    assert KeyedWrite.objects.get(pk=f"answer:{ended.pk}:1").result == str(comment.pk)


@pytest.mark.parametrize(
    ("outcome", "kind"), [(None, "finished"), (PAUSED, "question"), (FAILED, "failed")]
)
def test_person_who_gave_the_work_is_told_once_how_it_ended(team, outcome, kind):
    team.assign()
    team.run_turn("I have fixed it.", **({} if outcome is None else {"outcome": outcome}))
    told = Notification.objects.filter(recipient=team.ada.user, conversation_id__isnull=False)
    assert [(each.kind, each.task, each.actor) for each in told] == [(kind, team.task, team.rosa)]


def test_person_who_asks_in_a_comment_is_told_of_the_answer(team):
    team.comment("@rosa why?")
    team.run_turn("Because.")
    assert [each.kind for each in Notification.objects.all()] == ["finished"]


def test_answer_to_a_mention_stands_in_its_thread(team):
    first = team.comment("It fails.")
    team.comment("@rosa why?", parent=first)
    team.run_turn("Because of the umlauts.")
    assert team.task.comments.get(author=team.rosa).parent == first


def test_answer_to_a_mention_in_a_doc_stands_at_the_doc(team):
    doc = team.add_doc()
    question = team.comment("@rosa why?", on=doc)
    team.run_turn("Because.")
    assert [(c.text, c.parent) for c in doc.comments.filter(author=team.rosa)] == [
        ("Because.", question)
    ]


def test_answer_in_a_thread_whose_first_comment_is_deleted_stands_at_the_task(team):
    question = team.comment("@rosa why?")
    comments.delete(question, by=team.ada)
    team.run_turn("Because.")
    assert team.task.comments.get(author=team.rosa).parent is None


def test_answer_of_several_triggers_is_one_comment_in_the_newest_thread(team):
    team.assign()
    team.comment("@rosa first")
    newest = team.comment("@rosa second")
    team.run_turn("Both done.")
    (answer,) = team.task.comments.filter(author=team.rosa)
    assert (answer.text, answer.parent) == ("Both done.", newest)


def test_answer_is_the_text_after_the_last_tool_call(team):
    team.assign()
    team.run_turn("It works.", events.MessageSpoken(text="I look."), *bash_call("ls", "a"))
    assert team.said == [("Rosa", "It works.")]


def test_parts_of_an_answer_that_was_cut_are_put_together(team):
    team.assign()
    first = events.MessageSpoken(text="One ", truncated=True)
    team.run_turn("two.", events.MessageSpoken(text="Before."), *bash_call("ls", "a"), first)
    assert team.said == [("Rosa", "One two.")]


def test_empty_answer_after_a_tool_call_is_no_comment(team):
    team.assign()
    team.run_turn("", events.MessageSpoken(text="I look."), *bash_call("ls", "a"))
    assert team.said == []


def test_answer_that_the_agent_has_commented_itself_is_not_posted_again(team):
    team.assign()
    lease = team.start_turn()
    comments.add(
        team.task, text="I have fixed it.", by=team.rosa, conversation_id=lease.conversation_id
    )
    spoken = [events.MessageSpoken(text="I have fixed it.\n")]
    turn_end.end_turn(lease, spoken, ANSWERED, steps=1)
    assert team.said == [("Rosa", "I have fixed it.")]


def test_answer_that_an_earlier_turn_has_given_too_is_posted(team):
    team.assign()
    team.run_turn("Done.")
    team.comment("@rosa and that?")
    team.run_turn("Done.")
    assert [text for author, text in team.said if author == "Rosa"] == ["Done.", "Done."]


def test_answer_to_a_message_in_the_conversation_stays_there(team):
    team.assign()
    team.run_turn("Done.")
    services.send(team.conversation(), text="Really?", by=team.ada)
    team.run_turn("Yes.")
    assert team.said == [("Rosa", "Done.")]


def test_turn_that_ends_twice_has_one_comment(team):
    """The worker is not sure whether its transaction was committed, and does it again."""
    team.assign()
    lease = team.start_turn()
    turn_end.end_turn(lease, [events.MessageSpoken(text="Done.")], ANSWERED, steps=1)
    with pytest.raises(store.Fenced):
        turn_end.end_turn(lease, [events.MessageSpoken(text="Done.")], ANSWERED, steps=1)
    assert team.said == [("Rosa", "Done.")]


def test_deleted_conversation_keeps_no_note_of_its_answers(team):
    team.assign()
    deletion.delete(team.run_turn("Done."), by=team.ada)
    assert not KeyedWrite.objects.exists()
    assert team.said == [("Rosa", "Done.")]


def test_end_of_a_turn_that_is_told_twice_is_one_comment(team):
    team.assign()
    ended = team.run_turn("", outcome=PAUSED)
    answers.publish(ended.pk, 1, status="paused", reason="time_limit")
    assert ["is paused (step limit)" in text for _, text in team.said] == [True]


def test_long_answer_is_cut_and_says_where_the_rest_is(team):
    team.assign()
    team.run_turn("x" * (MAX_COMMENT_CHARACTERS + 1))
    text = team.said[0][1]
    assert len(text) == MAX_COMMENT_CHARACTERS
    assert text.endswith("(The answer goes on in the conversation.)")


def test_answer_of_an_agent_that_may_not_comment_stays_in_the_conversation(team):
    agent = team.hire("Vera", role="viewer")
    team.assign(agent)
    ended = team.run_turn("I have read it.")
    assert ended.status == "finished"
    assert team.said == []
    entry = team.task.activities.get(kind="agent.comment.withheld")
    assert (entry.actor, entry.conversation_id) == (agent, ended.pk)
    (change,) = entry.changes
    assert "needs tasks:write" in change["new"]


def test_comment_that_is_refused_does_not_keep_the_turn_from_its_end(team, monkeypatch):
    from paca.common.errors import Invalid

    def refuse(*_: object, **__: object) -> None:
        raise Invalid("No comments today.")

    team.assign()
    monkeypatch.setattr(comments, "add", refuse)
    assert team.run_turn("Done.").status == "finished"
    (change,) = team.task.activities.get(kind="agent.comment.withheld").changes
    assert change["new"] == "No comments today."


def test_mention_in_an_answer_calls_the_agent_that_it_names(team):
    bo = team.hire("Bo")
    team.assign()
    team.run_turn("Please review, @bo.")
    assert team.conversation(bo).status == "queued"
    assert "Rosa mentioned you in a comment on HARB-1" in team.messages(bo)[0]


def test_answer_about_a_deleted_task_stays_in_the_conversation(team):
    team.assign()
    lease = team.start_turn()
    tasks.delete(team.task, by=team.ada)
    turn_end.end_turn(lease, [events.MessageSpoken(text="Done.")], ANSWERED, steps=1)
    assert team.said == []


# --- turns without an answer ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "words"), [(PAUSED, "is paused (step limit)"), (FAILED, "has failed (config")]
)
def test_paused_or_failed_turn_says_so_in_the_thread(team, outcome, words):
    question = team.comment("@rosa go")
    ended = team.run_turn("", outcome=outcome)
    (notice,) = team.task.comments.filter(author=team.rosa)
    assert words in notice.text
    assert f"(/projects/{team.world.project.pk}/conversations/{ended.pk}/)" in notice.text
    assert notice.parent == question
    assert "sk-secret" not in notice.text


def test_continued_turn_posts_the_answer_to_the_open_request(team):
    question = team.comment("@rosa go")
    team.run_turn("", outcome=PAUSED)
    services.continue_(team.conversation(), by=team.ada)
    team.run_turn("Done now.")
    answer = team.task.comments.get(text="Done now.")
    assert (answer.author, answer.parent) == (team.rosa, question)


def test_paused_turn_that_goes_on_at_once_says_nothing(team):
    team.assign()
    lease = team.start_turn()
    team.comment("@rosa one more thing")
    turn_end.end_turn(lease, [], PAUSED, steps=1)
    assert [author for author, _ in team.said] == ["ada-harbor"]
    team.run_turn("Both done.")
    assert team.said[-1] == ("Rosa", "Both done.")


def test_turn_that_a_person_pauses_says_so_also_if_a_message_waits(team):
    team.assign()
    lease = team.start_turn()
    team.comment("@rosa one more thing")
    services.pause(team.conversation(), by=team.ada)
    turn_end.end_turn(lease, [], TurnOutcome("paused", "by_person"), steps=1)
    assert team.conversation().status == "paused"
    assert "is paused (by person)" in team.said[-1][1]


def test_stopped_turn_says_nothing_and_ends_its_request(team):
    team.assign()
    lease = team.start_turn()
    services.stop(team.conversation(), by=team.ada)
    turn_end.end_turn(lease, [], TurnOutcome("stopped", "by_person"), steps=1)
    assert team.conversation().status == "stopped"
    services.send(team.conversation(), text="Where were you?", by=team.ada)
    team.run_turn("Here.")
    assert team.said == []


def test_stop_of_a_paused_conversation_ends_its_request(team):
    team.assign()
    services.stop(team.run_turn("", outcome=PAUSED), by=team.ada)
    said = team.said
    services.send(team.conversation(), text="How far did you come?", by=team.ada)
    team.run_turn("I only looked.")
    assert team.said == said


def test_stop_that_comes_as_the_turn_pauses_ends_its_request(team):
    team.assign()
    lease = team.start_turn()
    services.stop(team.conversation(), by=team.ada)
    turn_end.end_turn(lease, [], PAUSED, steps=1)
    services.send(team.conversation(), text="How far did you come?", by=team.ada)
    team.run_turn("I only looked.")
    assert team.said == []


def test_mention_after_a_stop_is_a_new_request(team):
    team.assign()
    services.stop(team.run_turn("", outcome=PAUSED), by=team.ada)
    team.comment("@rosa go on")
    team.run_turn("Done.")
    assert team.said[-1] == ("Rosa", "Done.")


def test_interrupted_turn_leaves_its_request_to_the_next_one(team):
    team.assign()
    lease = team.start_turn()
    services.send(team.conversation(), text="Rather so", by=team.ada, on_busy="interrupt")
    follows = turn_end.end_turn(lease, [], TurnOutcome("stopped", "interrupted"), steps=1)
    assert follows
    turn_end.end_turn(lease, [events.MessageSpoken(text="So it is.")], ANSWERED, steps=1)
    assert team.said == [("Rosa", "So it is.")]


def test_parked_turn_says_so_once(team):
    team.assign()
    team.start_turn()
    Conversation.objects.update(
        lease_until="2020-01-01T00:00Z", lost_workers=claim.MAX_LOST_WORKERS
    )
    assert claim.claim("other", lease_seconds=60, limit=1) == []
    assert team.conversation().reason == "parked"
    assert ["is paused (parked)" in text for _, text in team.said] == [True]


# --- what is deleted --------------------------------------------------------------------------------


def test_deleted_task_stops_its_conversations_with_the_reason(team):
    team.assign()
    team.run_turn("Done.")
    bo = team.hire("Bo")
    team.assign(bo)
    tasks.delete(team.task, by=team.ada)
    assert services.stop_conversations_of_deleted() == 1
    assert services.stop_conversations_of_deleted() == 0
    stopped = team.conversation(bo)
    assert (stopped.status, stopped.reason) == ("stopped", "task_deleted")
    assert team.conversation().status == "finished"


def test_deleted_task_stops_a_running_turn_once(team):
    team.assign()
    lease = team.start_turn()
    tasks.delete(team.task, by=team.ada)
    assert services.stop_conversations_of_deleted() == 1
    assert services.stop_conversations_of_deleted() == 0
    (command,) = team.conversation().triggers.filter(control="stop")
    assert command.kind == "task_deleted"
    turn_end.end_turn(lease, [], TurnOutcome("stopped", command.kind), steps=1)
    assert (team.conversation().status, team.conversation().reason) == ("stopped", "task_deleted")


def test_conversation_of_a_deleted_task_takes_no_message(team):
    team.assign()
    team.run_turn("Done.")
    tasks.delete(team.task, by=team.ada)
    url = f"/projects/{team.world.project.pk}/conversations/{team.conversation().pk}/"
    for path, body in (("messages/", {"text": "Hello"}), ("continue/", {})):
        answer = team.api.post(url + path, body)
        assert (answer.status_code, answer.data["code"]) == (409, "subject_deleted")
    tasks.restore(team.task, by=team.ada)
    assert team.api.post(f"{url}messages/", {"text": "Hello"}).status_code == 202


def test_deleted_doc_stops_its_conversation(team):
    doc = team.add_doc()
    team.comment("@rosa go", on=doc)
    doc.deleted_at = doc.updated_at
    doc.save()
    assert services.stop_conversations_of_deleted() == 1
    assert team.conversation().reason == "doc_deleted"


def test_deleted_project_stops_its_conversations_with_the_reason(team):
    from paca.projects.services import projects

    team.assign()
    projects.delete(Project.objects.get(pk=team.world.project.pk), by=team.ada)
    assert (team.conversation().status, team.conversation().reason) == (
        "stopped",
        "project_deleted",
    )


def test_removed_agent_stops_with_the_reason(team):
    from paca.agents import services as agents

    team.assign()
    agents.retire(team.world.agent, by=team.ada)
    assert (team.conversation().status, team.conversation().reason) == ("stopped", "agent_removed")
