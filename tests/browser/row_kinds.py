"""A finished conversation with one row of each kind that once harmed a page, made by ``manage.py shell``."""

from uuid import UUID, uuid4

from paca import events
from paca.agents.models import Agent
from paca.conversations import full_outputs, services, store
from paca.conversations.models import Conversation, Trigger
from paca.projects.models import Member

FULL_OUTPUT = "".join(f"line {n}\n" for n in range(50_000)).encode()

ARABIC = (
    "مرحبا! هذه إجابة بالعربية\u200f، وفيها كود `print('hi')` ورابط https://example.com/ar، ثم نص.\n\n"
    "- أولا\n- ثانيا\n\n> اقتباس\n\n| اسم | عدد |\n|---|---|\n| تفاح | 3 |\n\n```python\nprint('code')\n```"
)
CHINESE = "请看 https://example.com/a，然后继续。**「重要」**です，**注意：**中文**（强调）**中文。"
MIXED = (
    "Takes 5~10 minutes, at most 20~30 minutes, ~~not more~~.\n\n"
    "[![CI](https://evil.example/ci.svg)](https://example.com/ci) ![a plan](https://evil.example/plan.png)\n\n"
    "Euler: \\(e^{i\\pi}_1 = -1\\) and\n\n\\[\n\\sum_{n=1}^{\\infty} a_n * b_n\n\\]\n\nfor $5 and *not* $6."
)


def conversation() -> UUID:
    """Make the conversation; no worker answers it."""
    made = stopped_chat("```\ncode\n```\nWhat does it do?")
    end = events.MessageSpoken(text="**The end.**", call_id="end", model="demo/guide")
    store.append(made, *_rows(), *_calls(), end)
    return made


def stopped_chat(text: str) -> UUID:
    agent = Agent.objects.get(handle="guide")
    me = Member.objects.get(project=agent.project, user__username="admin")
    made = services.start_chat(agent, text=text, by=me).conversation_id
    Trigger.objects.filter(conversation=made).update(state="done")
    store.append(made, events.ConversationStopped(reason="by_person", by="a test"))
    return made


def _rows() -> list[events.Event]:
    said = [">" * 2000 + " deep", "*" * 3000 + "a" + "*" * 3000, ARABIC, CHINESE, MIXED]
    return [
        events.MessageReceived(text="رسالة بالعربية\u200f، وشكرا", author_name="admin"),
        *(
            events.MessageSpoken(text=text, call_id=f"said-{n}", model="demo/guide")
            for n, text in enumerate(said)
        ),
        events.GuardNoticed(guard="repeated_step", note="You have done this three times."),
    ]


def _calls() -> list[events.Event]:
    found: list[events.Event] = []
    for name in ("constructor", "toString", "__proto__", "hasOwnProperty"):
        found += _call(name, {name: [1]}, f"There is no tool {name}.", cause="unknown_tool")
    return found


def _call(tool: str, arguments: dict, output: str, *, cause: str = "") -> list[events.Event]:
    call = str(uuid4())
    return [
        events.ToolCalled(call_id=call, tool=tool, arguments=arguments, subject=tool),
        events.ToolReturned(call_id=call, output=output, failed=bool(cause), cause=cause),
    ]


def long_output() -> UUID:
    """A conversation with one call whose full output is kept."""
    made, call = stopped_chat("Count"), uuid4()
    arguments = {"command": "count"}
    called = events.ToolCalled(call_id=str(call), tool="bash", arguments=arguments, subject="count")
    store.append(made, called)
    full_outputs.begin(call)
    full_outputs.add_part(call, 0, FULL_OUTPUT)
    full_outputs.finish(call, size_bytes=len(FULL_OUTPUT))
    returned = events.ToolReturned(
        call_id=str(call),
        output="line 0\n[... left out ...]\nline 49999",
        exit_code=0,
        truncated=True,
        file=".paca/output/count.txt",
        full_output_bytes=len(FULL_OUTPUT),
    )
    store.append(made, returned)
    return made


def end_runs_of_nobody() -> UUID:
    """End the conversations that a worker runs that does not exist: they take places of the agent."""
    running = Conversation.objects.filter(lease_owner="nobody")
    found = running.values_list("pk", flat=True)[0]
    running.update(status="stopped", lease_owner="", lease_until=None)
    return found
