"""The tasks of the demo project, and what the demo model does with them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from paca.engine.llm.base import ToolResult
from paca.engine.llm.demo.scripts import (
    FIX_A_BUG,
    JOBS,
    PRIMES,
    SMALL_PROGRAM,
    DemoJob,
    ScriptedStep,
    quote,
    to_plain,
)
from paca.engine.llm.demo.task_requests import TaskRequest

BEGUN, DONE = "In progress", "Done"


@dataclass(frozen=True, slots=True)
class DemoTask:
    """A task of the demo project. A person does it if it has no ``job``."""

    title: str
    description: str
    status: str
    type: str = "Task"
    job: DemoJob | None = None


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A change that the demo makes if a comment has this word, after this job."""

    word: str
    after: DemoJob
    job: DemoJob


TASKS = (
    DemoTask(
        title="Write a program that finds prime numbers",
        status="Backlog",  # the first column, so that a phone shows this task first
        job=SMALL_PROGRAM,
        description=(
            "**Assign me to Guide and watch.** No key is needed.\n\n"
            "Guide reads this task, writes the program in its sandbox, runs it, answers in a comment and"
            " moves the task to *Done*.\n\n"
            "Then ask for a change in a comment: `@guide also print their sum`. Guide goes on in the same"
            " workspace."
        ),
    ),
    DemoTask(
        title="Find the bug in the shopping cart and fix it",
        status="To do",
        type="Bug",
        job=FIX_A_BUG,
        description=(
            "A discount of 10 per cent makes the total negative.\n\n"
            "- [ ] A test shows the bug.\n"
            "- [ ] The test passes after the fix.\n\n"
            "Guide can do this one too."
        ),
    ),
    DemoTask(
        title="Get to know Paca",
        status=BEGUN,
        description=(
            "This one is for you. Press *Edit* to check it off.\n\n"
            "- [ ] Assign a task to Guide and watch it work.\n"
            "- [ ] Ask for a change: mention `@guide` in a comment.\n"
            "- [ ] Make a task of your own and press *Write with AI*.\n"
            "- [ ] Add an agent with a real model, on the page *Agents*.\n"
            "- [ ] Invite somebody, on the page *Team*.\n"
            "- [ ] Press Ctrl+K and find this task."
        ),
    ),
)


def find_job(text: str) -> DemoJob | None:
    """The job that this text, such as the title of a task, asks for."""
    plain = to_plain(text)
    for job in JOBS:
        if to_plain(job.prompt) in plain or to_plain(job.title) in plain:
            return job
    return next((task.job for task in TASKS if task.job and to_plain(task.title) in plain), None)


def find_follow_up(words: str, begun: Collection[str]) -> DemoJob | None:
    """The change that a comment asks for, after the jobs with these titles."""
    asked = to_plain(words).split()
    fitting = (each for each in FOLLOW_UPS if each.word in asked and each.after.title in begun)
    return next((each.job for each in fitting), None)


def on_task(job: DemoJob, key: str) -> DemoJob:
    """The job as work on this task: the task is read before, and moved when it begins and ends."""

    def report(outputs: Sequence[Sequence[str]]) -> str:
        own = job.report(outputs[2:-1])
        if is_moved(outputs[-1][0]):
            return f"{own}\n\nI moved {key} to *{DONE}*. {_offer(job)}"
        return f"{own}\n\nI could not move {key} to *{DONE}*:\n\n{quote(outputs[-1][0])}\n\n{_offer(job)}"

    steps = (
        ScriptedStep("I read the task first.", (("read_task", {"task": key}),)),
        _move(key, BEGUN, "I tell the others that I have begun."),
        *job.steps,
        _move(key, DONE, "This works. I move the task."),
    )
    return DemoJob(job.title, job.prompt, steps, report)


def is_moved(output: str) -> bool:
    """Whether the result of ``update_task`` says that the task has the status."""
    return output.startswith("Changed ") or "is so already" in output


def _move(key: str, status: str, text: str) -> ScriptedStep:
    """A step that also counts if the role or the statuses of the project do not allow it."""
    call = ("update_task", {"task": key, "status": status})
    return ScriptedStep(text, (call,), accepts=_accept_any)


def _accept_any(results: Sequence[ToolResult]) -> bool:
    return True


def _offer(job: DemoJob) -> str:
    words = [f"*{each.job.prompt}*" for each in FOLLOW_UPS if each.after is job]
    return f"For a change, mention me in a comment and write {' or '.join(words)}." if words else ""


def write_description(request: TaskRequest) -> DemoJob:
    """The job of writing the description of a task."""
    step = ScriptedStep("I read the task.", (("read_task", {"task": request.key}),))
    text = _description_text(request)
    return DemoJob("Write a description", "Write the description.", (step,), lambda outputs: text)


def _description_text(request: TaskRequest) -> str:
    """The description that the demo suggests. What people wrote stays in it."""
    lines = [
        "> Demo text: a script has written it. An agent with a real model reads the project first and"
        " writes about your task.",
        f"**Goal.** {request.title.rstrip('.')}, and nobody has to ask how it is used.",
        request.description,
        "**Acceptance criteria**",
        "- [ ] It can be shown in one minute.\n"
        "- [ ] A test proves it, and fails without it.\n"
        "- [ ] A comment tells how it was checked, and what is left.",
    ]
    return "\n\n".join(filter(None, lines))


# --- changes that a comment may ask for -----------------------------------------------------------

COUNT_LINE = '    print(f"{len(found)} primes below {limit}, the last of them:")'
SUM_LINE = (
    '    print(f"{len(found)} primes below {limit}, their sum is {sum(found)}, the last of them:")'
)
assert COUNT_LINE in PRIMES

LOOK_STEP = ScriptedStep(
    "I look at what is in the workspace. It is as I left it.",
    (("list_directory", {"path": "."}),),
)


def _sum_report(outputs: Sequence[Sequence[str]]) -> str:
    return (
        "The program prints the sum too. I changed one line of the `primes.py` that was in the workspace:\n\n"
        f"```diff\n-{COUNT_LINE}\n+{SUM_LINE}\n```\n\n"
        f"It prints now:\n\n{quote(outputs[-1][0])}"
    )


ADD_SUM = DemoJob(
    title="Print their sum",
    prompt="also print their sum",
    steps=(
        LOOK_STEP,
        ScriptedStep(
            "I change the line that prints the count.",
            (("edit_file", {"path": "primes.py", "old": COUNT_LINE, "new": SUM_LINE}),),
            accepts=_accept_any,  # made twice, it fails; the next step looks for the line
        ),
        ScriptedStep(
            "Now I run it.",
            (("bash", {"command": 'grep -q "sum(found)" primes.py && python3 primes.py'}),),
        ),
    ),
    report=_sum_report,
)

PRIMES_README = """# Primes

`python3 primes.py 100` prints how many primes there are below 100, and the last of them.
Without a number it takes 60.
"""
CART_README = """# Shopping cart

`cart.py` has the price of a cart with a discount in per cent. `python3 test_cart.py` tests it.
"""


def _readme_report(outputs: Sequence[Sequence[str]]) -> str:
    return (
        "`README.md` is written. It stands in the workspace beside the other files:\n\n"
        f"{quote(outputs[-1][0])}"
    )


def _add_readme(content: str) -> DemoJob:
    write = ("write_file", {"path": "README.md", "content": content})
    return DemoJob(
        title="Write a README",
        prompt="also write a readme",
        steps=(
            LOOK_STEP,
            ScriptedStep("I write the README.", (write,)),
            ScriptedStep("I check it.", (("bash", {"command": "ls; echo; cat README.md"}),)),
        ),
        report=_readme_report,
    )


FOLLOW_UPS = (
    FollowUp("sum", SMALL_PROGRAM, ADD_SUM),
    FollowUp("readme", SMALL_PROGRAM, _add_readme(PRIMES_README)),
    FollowUp("readme", FIX_A_BUG, _add_readme(CART_README)),
)
CHANGES = tuple(dict.fromkeys(each.job.prompt for each in FOLLOW_UPS))
