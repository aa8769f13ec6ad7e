"""Decides for each tool call: run it, ask a person first, or refuse it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any, Protocol

from paca import events
from paca.common.errors import PacaError
from paca.engine.approvals import allowed_commands as command_lists
from paca.engine.approvals import command_rules
from paca.engine.approvals.allowed_commands import CommandList
from paca.engine.approvals.command_rules import CommandFinding
from paca.engine.approvals.decisions import Decision, Decisions
from paca.engine.approvals.delegate import Delegate
from paca.engine.approvals.person_tools import (
    PLAN_TOOL,
    ConversationTool,
    PersonRequested,
    Settlement,
)
from paca.engine.approvals.plans import PlanState, only_looks, refusal_in_plan_mode
from paca.engine.helpers.requests import HelpersRequested
from paca.engine.helpers.state import NO_HELPERS, HelperState
from paca.engine.tools.base import AnyParsedCall, AnyTool, Effect
from paca.engine.tools.repository_setup import SETUP_SCRIPT

MAX_SHOWN_ARGUMENTS = 2_000
REVOKED = (
    "Not run: a person took back the approval of everything before it began. Call it again if it is still needed: a person"
    " is asked first."
)
DENIED_BEFORE = (
    "Not run, and nobody was asked: this same call was denied twice. Do something else, or end your turn and say what"
    " you need and why."
)


class ApprovalPolicy(StrEnum):
    """Which calls of an agent wait for a person."""

    AUTO = "auto"  # none but catastrophic commands
    UNSAFE = "unsafe"  # those that may do harm, as far as their tool and the rules of commands tell
    ALL = "all"  # all but those that only think


BESIDE_A_QUESTION = (
    "Not run: you called it in the same reply as a {} to people, before you knew what they say. Read it, and call"
    " it again if it is still right."
)


class PersonNeeded(Exception):
    """A person has to decide on a call, or answer it, before the turn can go on; or its helpers have to end."""

    def __init__(self, request: PersonRequested | HelpersRequested) -> None:
        super().__init__(request.call_id)
        self.request = request


class ParsesCalls(Protocol):
    """The toolbox: finds the tool, and checks arguments."""

    def parse(self, tool_name: str, arguments: Any) -> AnyParsedCall: ...

    def has(self, name: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a call. One of these is set: the call to run, the refusal with its ``cause``, the request to
    people or for helpers, or what the log answers.
    """

    run: AnyParsedCall | None = None
    refusal: str = ""
    cause: str = "denied"
    request: PersonRequested | HelpersRequested | None = None
    settled: Settlement | None = None


OTHER_TOOL = CommandFinding("unsafe_tool", "Paca does not know what a call of this tool does.", "")
EACH_CALL = CommandFinding("ask_for_all", "This agent asks before each call.", "")
DESTRUCTIVE = CommandFinding(
    "destructive_tool",
    "Its MCP server says that a call may destroy something.",
    "",
    catastrophic=True,
)
SENDS_OUT = CommandFinding(
    "sends_out",
    "It sends work out of Paca, where others see it. What the agent has read may have asked for it.",
    "",
    catastrophic=True,
)
REPOSITORY_SETTINGS = CommandFinding(
    "repository_settings",
    "It changes a file of .git, which can make git run other programs.",
    "Restore the file.",
)


def judge(
    call_id: str,
    call: AnyParsedCall,
    *,
    policy: str,
    decisions: Decisions,
    toolbox: ParsesCalls,
    plan: PlanState | None = None,
    helpers: HelperState = NO_HELPERS,
    has_started: bool = False,
    allowed_commands: Sequence[CommandList] = (),
) -> Verdict:
    """The verdict on a call. A command that a list does not allow is refused, also if a person has approved it.

    Nobody is asked about such a command. One that has started is only carried on.
    """
    # guard: allowed-commands-before-a-person-is-asked
    if refused := _refuse_command(call, allowed_commands, has_started=has_started):
        return refused
    verdict = _judge(
        call_id,
        call,
        policy=policy,
        decisions=decisions,
        toolbox=toolbox,
        plan=plan,
        helpers=helpers,
        has_started=has_started,
    )
    # guard: allowed-commands-after-a-person-changed-them
    if verdict.run is not None and verdict.run is not call:
        return _refuse_command(verdict.run, allowed_commands, has_started=has_started) or verdict
    return verdict


def _refuse_command(
    call: AnyParsedCall, lists: Sequence[CommandList], *, has_started: bool
) -> Verdict | None:
    """The refusal of a command that a list does not allow; None if all do."""
    if has_started or not call.tool.takes_command:
        return None
    refusal = command_lists.refusal(call.arguments.command, lists)
    return Verdict(refusal=refusal, cause="refused") if refusal else None


def _judge(
    call_id: str,
    call: AnyParsedCall,
    *,
    policy: str,
    decisions: Decisions,
    toolbox: ParsesCalls,
    plan: PlanState | None,
    helpers: HelperState,
    has_started: bool,
) -> Verdict:
    """The verdict on a call. One that has started was judged before, and is only carried on.

    The decision of a person on this very call comes first, but plan mode forbids also what was approved. After a
    message of a person has ended a wait, no further call of the reply runs; after a question or a plan only those
    that read.
    """
    plan = plan or PlanState()
    decision = decisions.of(call_id)
    refusal = refusal_in_plan_mode(plan, call, can_propose=toolbox.has(PLAN_TOOL))
    # guard: plan-mode-holds-for-a-call-that-began-in-it
    if refusal and (not has_started or call_id in plan.held):
        return Verdict(refusal=refusal, cause="refused")
    # guard: revocation-holds-for-a-call-that-began-after-it
    is_held = call_id in decisions.held
    if decision is not None or (has_started and not is_held) or helpers.of(call_id) is not None:
        if isinstance(call.tool, ConversationTool):
            return _ask_log(call_id, call, decision, plan, helpers)
        return Verdict(run=call) if decision is None else _carry_out(decision, call, toolbox)
    if ended := _end_of_reply(call, decisions):
        return ended
    if isinstance(call.tool, ConversationTool):
        return _ask_log(call_id, call, None, plan, helpers)
    finding = finding_of(call, policy)
    # guard: approval-rest
    if finding is None or (decisions.rest_by and not finding.catastrophic):
        return Verdict(run=call)
    if is_held:
        return Verdict(refusal=REVOKED, cause="refused")
    request = _request(call_id, call, finding)
    return (
        Verdict(refusal=DENIED_BEFORE) if decisions.refuses(request) else Verdict(request=request)
    )


def _end_of_reply(call: AnyParsedCall, decisions: Decisions) -> Verdict | None:
    """The refusal of a call whose reply has ended before it; None if it has not."""
    # guard: approval-message-ends-the-reply
    if decisions.superseded is not None:
        return Verdict(refusal=decisions.superseded.refusal)
    # guard: question-ends-the-reply
    if decisions.beside and not only_looks(call):
        return Verdict(refusal=BESIDE_A_QUESTION.format(decisions.beside), cause="refused")
    return None


def _ask_log(
    call_id: str,
    call: AnyParsedCall,
    decision: Decision | None,
    plan: PlanState,
    helpers: HelperState,
) -> Verdict:
    """The verdict on a call that the log answers."""
    tool: AnyTool = call.tool
    if isinstance(tool, Delegate):
        return _settle(tool.settle_among(call_id, call.arguments, helpers))
    assert isinstance(tool, ConversationTool)
    return _settle(tool.settle(call_id, call.arguments, decision, plan))


def _settle(settled: Settlement) -> Verdict:
    return Verdict(request=settled.request) if settled.request else Verdict(settled=settled)


def finding_of(call: AnyParsedCall, policy: str) -> CommandFinding | None:
    """Why the policy asks before this call; None if it does not. An unknown policy asks for all."""
    if call.tool.only_thinks:
        return None
    finding = _unsafe_finding(call)
    if policy == ApprovalPolicy.AUTO:
        return finding if finding is not None and finding.catastrophic else None
    if policy == ApprovalPolicy.UNSAFE:
        return finding
    return finding or EACH_CALL


def asks_before_script(policy: str, lists: Sequence[CommandList], script: str) -> bool:
    """Whether ``bash`` with this script of a repository needs a person, or is not allowed. An unknown policy asks."""
    # guard: setup-scripts-ask-as-commands-do
    if policy != ApprovalPolicy.AUTO or command_lists.refusal(f"bash {SETUP_SCRIPT}", lists):
        return True
    finding = command_rules.scan(script)
    return finding is not None and finding.catastrophic


def _unsafe_finding(call: AnyParsedCall) -> CommandFinding | None:
    arguments = call.arguments
    if call.tool.takes_command:
        return command_rules.scan(arguments.command)
    if call.tool.asks_always:
        return DESTRUCTIVE
    # guard: what-leaves-asks-with-every-policy
    if call.tool.sends_out:
        return SENDS_OUT
    if not call.tool.safe:
        return OTHER_TOOL
    writes = call.tool.uses_workspace and call.tool.effect is not Effect.READ_ONLY
    if writes and ".git" in PurePosixPath(getattr(arguments, "path", "")).parts:
        return REPOSITORY_SETTINGS
    return None


def _carry_out(decision: Decision, call: AnyParsedCall, toolbox: ParsesCalls) -> Verdict:
    """Run exactly what was approved, or refuse."""
    if not decision.approves:
        return Verdict(refusal=decision.refusal)
    if decision.arguments is None:
        return Verdict(run=call)
    try:
        changed = toolbox.parse(call.tool.name, decision.arguments)
    except PacaError as error:  # another version of Paca has checked them
        return Verdict(refusal=f"Not run: {error.detail}")
    note = (
        f"{decision.by or 'A person'} changed the arguments before approving. This ran:"
        f" {_shown(decision.arguments)}"
    )
    return Verdict(run=replace(changed, notes=(*changed.notes, note)))


def _shown(arguments: Mapping[str, Any]) -> str:
    text = json.dumps(arguments, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN_ARGUMENTS else f"{text[:MAX_SHOWN_ARGUMENTS]} ..."


def _request(
    call_id: str, call: AnyParsedCall, finding: CommandFinding
) -> events.ApprovalRequested:
    return events.ApprovalRequested(
        call_id=call_id,
        tool=call.tool.name,
        arguments=call.arguments.model_dump(mode="json", exclude_unset=True),
        subject=call.subject,
        rule=finding.rule,
        why=finding.why,
        effect=str(call.tool.effect),
        undo=finding.undo,
        diff=call.tool.diff(call.arguments),
    )
