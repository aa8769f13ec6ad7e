"""A worker is killed between the opening of a pull request and its event: there is one pull request, and it is stored."""

import pytest

from paca import events
from paca.conversations import store
from paca.conversations.models import ConversationBranch
from paca.conversations.services import approvals
from tests.support.flow import Flow, assert_replay_matches, wait_until
from tests.support.git_host_server import GitHostServer
from tests.support.model_script import calls, says
from tests.support.repositories import make_connection, make_repository
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
WANTED = {"repository": "shop", "branch": "fix-totals", "title": "Fix totals"}


@pytest.mark.parametrize("kind", ["gitea", "github"])
def test_killed_worker_leaves_one_pull_request_that_the_next_one_stores(tmp_path, kind):
    with GitHostServer(kind) as git, Flow(tmp_path) as flow:
        flow.stop_worker()
        connection = make_connection(flow.world.project, kind=kind, base_url=git.base_url)
        repository = make_repository(flow.world.project, connection=connection)
        with WorkerProcess(flow.folder, fault="pull-request-opened") as process:
            found = flow.begin("Go", [calls(create_pull_request=WANTED), says("Done.")])
            wait_until(lambda: found.status == "waiting/approval")
            told = {"repository_id": str(repository.pk), "repository": "shop"}
            pushed = events.RepositoryPushed(**told, branch="fix-totals", commit="4f1c2d")
            store.append(found.row.pk, pushed)
            request = found.event_data("approval.requested")[-1]
            assert git.opened == 0
            approvals.decide(
                found.row, call_id=request["call_id"], decision="approve", by=flow.world.owner
            )
            process.wait_until_dead()
            assert git.opened == 1
            assert not found.has_event("pull_request.opened")
            process.start()
            flow.wait_until_idle(found, 120)
        assert found.status == "finished/answered", found.outputs
        assert git.opened == len(git.pulls) == 1
        [event] = found.event_data("pull_request.opened")
        branch = ConversationBranch.objects.get(conversation=found.id)
        assert (branch.pr_number, branch.pr_url, branch.state) == (1, event["url"], "open")
        assert_replay_matches(found)
