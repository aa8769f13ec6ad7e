"""The guards that Paca's promises hang on: what takes each out, and the tests that must notice."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """``file`` without ``guard``, which stands there exactly once; ``instead`` is what is left.

    ``on_services``: only PostgreSQL and Valkey can show it.
    """

    name: str
    file: str
    guard: str
    instead: str
    tests: tuple[str, ...]
    on_services: bool = False


MUTANTS = (
    Mutant(
        "store: the lease's epoch in the WHERE",
        "paca/conversations/store.py",
        """        where += " AND lease_owner = %s AND lease_epoch = %s"
        keys += [lease.owner, lease.epoch]
""",
        """        where += " AND lease_owner = %s"
        keys += [lease.owner]
""",
        ("tests/conversations/test_store.py::test_a_superseded_worker_writes_nothing",),
    ),
    Mutant(
        "store: the lease's owner in the WHERE",
        "paca/conversations/store.py",
        """        where += " AND lease_owner = %s AND lease_epoch = %s"
        keys += [lease.owner, lease.epoch]
""",
        """        where += " AND lease_epoch = %s"
        keys += [lease.epoch]
""",
        ("tests/conversations/test_store.py::test_a_worker_that_has_let_go_writes_nothing",),
    ),
    Mutant(
        "runner: the table of calls",
        "paca/sandbox/runner/requests.py",
        "if call_id in self._calls.all:",
        "if False:",
        (
            "tests/sandbox/test_attachments.py::test_a_command_outlives_a_killed_worker_and_runs_once",
        ),
    ),
    Mutant(
        "runner: the table of written files",
        "paca/sandbox/runner/files.py",
        "if call_id in self._written:",
        "if False:",
        ("tests/sandbox/test_files.py",),
    ),
    Mutant(
        "runner: the epoch of who attaches",
        "paca/sandbox/runner/server.py",
        "if not isinstance(epoch, int) or epoch < self._epoch:",
        "if not isinstance(epoch, int):",
        ("tests/sandbox/test_attachments.py",),
    ),
    Mutant(
        "runner: the digest a file must still have",
        "paca/sandbox/runner/files.py",
        "if expected is not None and (before is None or sha256(before) != expected):",
        "if False:",
        ("tests/sandbox/test_files.py",),
    ),
    Mutant(
        "engine: a call of another life of the runner is unknown",
        "paca/engine/acting.py",
        "return call.open.boot_id != boot_id or not call.tool.reattachable",
        "return False",
        (
            "tests/flows/test_crashes.py::"
            "test_a_sandbox_that_is_gone_makes_the_outcome_unknown_and_says_so",
        ),
    ),
    Mutant(
        "ending: the inbox in the transaction that ends a turn",
        "paca/worker/turn_end.py",
        "    elif follows and orders.exists():",
        "    elif False:",
        (
            "tests/flows/test_interruptions.py::"
            "test_a_message_during_the_final_reply_gets_a_turn_of_its_own",
        ),
    ),
    Mutant(
        "claim: one step that kills its workers is parked",
        "paca/worker/claim.py",
        "    if lost >= MOST_LOST:",
        "    if False:",
        ("tests/worker/test_claiming.py",),
    ),
    Mutant(
        "presence: a pid may be another process's by now",
        "paca/worker/worker_registry.py",
        "return process_started(pid) != started",
        'return process_started(pid) == ""',
        ("tests/worker/test_worker_registry.py::test_a_pid_that_another_process_has_now_is_gone",),
    ),
    Mutant(
        "leases: a held row keeps no other waiting",
        "paca/worker/lease.py",
        "no_key=True, skip_locked=True)",
        "no_key=True)",
        ("tests/worker/test_leases.py",),
        on_services=True,
    ),
    Mutant(
        "realtime: join, then replay",
        "paca/realtime/consumers.py",
        """        with super().join(standing), self.relay.watch(self.id, self.delivery.hear):
            yield
""",
        """        with super().join(standing):
            yield
""",
        ("tests/realtime/test_replay_and_follow.py",),
    ),
    Mutant(
        "realtime: the origin of a socket",
        "paca/realtime/origin_check.py",
        'return is_ours(header(scope, b"origin"), host=header(scope, b"host"))',
        "return True",
        ("tests/realtime/test_access.py",),
    ),
    Mutant(
        "realtime: only members of the project",
        "paca/realtime/access.py",
        "member = member_of(visitor.user, conversation.project_id)",
        "member = visitor.user.memberships.first()",
        ("tests/realtime/test_access.py",),
    ),
    Mutant(
        "access: the project in every look-up of a conversation",
        "paca/conversations/models/conversation.py",
        "return self.filter(project=project, deleted_at__isnull=True)",
        "return self.filter(deleted_at__isnull=True)",
        ("tests/security/test_access_matrix.py",),
    ),
    Mutant(
        "history: each call has a result",
        "paca/engine/context/history.py",
        "        known.get(block.call_id, ToolResult(block.call_id, NO_RESULT, failed=True))\n"
        "        for block in reply\n"
        "        if isinstance(block, ToolUse)",
        "        known[block.call_id]\n"
        "        for block in reply\n"
        "        if isinstance(block, ToolUse) and block.call_id in known",
        ("tests/engine/context/test_history.py",),
    ),
    Mutant(
        "history: the first result of a call counts",
        "paca/engine/context/history.py",
        "    if not any(entry.call.call_id == event.call_id for entry in history.open_calls()):\n"
        "        return history\n"
        "    failed",
        "    failed",
        ("tests/engine/context/test_history.py",),
    ),
    Mutant(
        "API: the same key does the work once",
        "paca/accounts/api/idempotency.py",
        "        if not key:\n            return handler",
        "        if True:\n            return handler",
        ("tests/accounts/test_idempotency.py",),
    ),
    Mutant(
        "docker: the label of the installation in every sweep",
        "paca/sandbox/docker/inventory.py",
        """        listed: list[dict[str, Any]] = self._engine.wait(
            lambda client: client.containers(all=True, filters={"label": self._mine})
        )
""",
        # Of the tests' installations alone: the daemon may have others, whose work is none of ours.
        """        listed = [
            each
            for each in self._engine.wait(lambda client: client.containers(all=True))
            if each["Labels"].get(container.INSTALL, "").startswith("tests-")
        ]
""",
        (
            "tests/flows/test_docker.py::"
            "test_after_one_sweep_the_containers_are_those_that_rows_ask_for",
        ),
    ),
    Mutant(
        "loop: the same step again and again",
        "paca/engine/loop.py",
        "if loop_guard.is_stuck:",
        "if False:",
        (
            "tests/flows/test_repeating.py::test_the_same_call_with_the_same_result_is_told_once_and_then_pauses",
        ),
    ),
    Mutant(
        "model: the length of an answer",
        "paca/engine/llm/response_body.py",
        "if self._came > LONGEST_ANSWER_BYTES:",
        "if False:",
        (
            "tests/engine/llm/test_anthropic_client.py::test_an_answer_that_goes_on_without_end_is_ended",
        ),
    ),
    Mutant(
        "web: the length of a body that does not tell it",
        "paca/web/middleware/body_size_limit.py",
        "if came <= self._most:",
        "if True:",
        ("tests/web/test_body_size_limit.py",),
    ),
)
