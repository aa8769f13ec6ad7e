"""A chat past the window of a real, very small model, through the whole product. Not collected by itself.

``LOCAL_MODEL`` is the address of the model's server; see ``tests.localmodel``.
"""

import os
import time

import pytest

from paca.agents import services as agents
from tests.support.flow import Flow, assert_replay_matches

MESSAGES = 30
SUBJECTS = (
    "harbor",
    "lighthouse",
    "crane",
    "ferry",
    "storm",
    "cargo",
    "pilot",
    "chart",
    "anchor",
    "tide",
)


def about(number: int) -> str:
    """A message of about 250 tokens, which differs from all others."""
    subject = SUBJECTS[number % len(SUBJECTS)]
    story = " ".join(
        f"In year {1900 + number * 7 + line} the {subject} number {number * line} was moved, and people wrote about it."
        for line in range(11)
    )
    return f"Note {number} about the {subject}. {story} In one short sentence: what was moved?"


@pytest.mark.timeout(5400)
def test_chat_goes_on_past_the_window(transactional_db: None, tmp_path) -> None:
    address = os.environ["LOCAL_MODEL"]
    with Flow(tmp_path, dialect="openai", model="llamacpp/smollm2", base_url=address) as flow:
        parameters = {"max_tokens": 60, "context_window": int(os.environ["LOCAL_MODEL_WINDOW"])}
        agents.configure(flow.world.agent, by=flow.world.owner, parameters=parameters)
        conversation, began = None, time.monotonic()
        for number in range(1, MESSAGES + 1):
            if conversation is None:
                conversation = flow.begin(about(number))
            else:
                flow.send(conversation, about(number))
            flow.wait_until_idle(conversation, 1200)
            assert conversation.status == "finished/answered", (number, conversation.status)
        summaries = conversation.event_data("context.compacted")
        read = [
            usage["input"] + (usage["cache_read"] or 0)
            for usage in conversation.event_data("usage.recorded")
        ]
        left_out = sum(each["tokens_before"] - each["tokens_after"] for each in summaries)
        assert left_out + max(filter(None, read)) > int(os.environ["LOCAL_MODEL_WINDOW"])
        assert len(conversation.answers) >= MESSAGES
        assert_replay_matches(conversation)
        print(
            f"{MESSAGES} messages, {len(summaries)} summaries, at most {max(filter(None, read))} tokens read,"
            f" {time.monotonic() - began:.0f} s"
        )
