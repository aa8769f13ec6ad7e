"""How streams end."""

from paca.engine.llm.model_errors import Overloaded, StreamBroken
from tests.engine.llm.oddities.shape import (
    BEGIN,
    DONE,
    LS,
    Shape,
    calling,
    claude_says,
    delta,
    event,
    says,
    sse,
)

HELLO = ("Hel", "lo.")
SHAPES = {
    "[DONE] without a reason": Shape(body=says(*HELLO, finish=None), text="Hello.", stop="end"),
    "[DONE] without a reason, after a call": Shape(body=calling('{"command": "ls"}', None), calls=(("bash", LS),)),
    "[DONE] without a space": Shape(body=says(*HELLO, finish=None, end=b"data:[DONE]\n\n"), text="Hello."),
    "[DONE] in the block of the last event": Shape(body=says(*HELLO, end=b"")[:-1] + DONE, text="Hello."),
    "a reason in capitals": Shape(body=says(*HELLO, finish="STOP"), text="Hello.", stop="end", notice=""),
    "a reason with a capital": Shape(body=says(*HELLO, finish="Stop"), text="Hello."),
    "MAX_TOKENS": Shape(body=says(*HELLO, finish="MAX_TOKENS"), text="Hello.", stop="output_limit"),
    "model_length": Shape(body=says(*HELLO, finish="model_length"), stop="output_limit"),
    "SAFETY": Shape(body=says(*HELLO, finish="SAFETY"), stop="refused"),
    "eos": Shape(body=says(*HELLO, finish="eos"), text="Hello.", notice=""),
    "an unknown reason": Shape(body=says(*HELLO, finish="vibes"), text="Hello.", stop="end", notice="unknown_stop"),
    "an unknown reason after a call": Shape(body=calling('{"command": "ls"}', "vibes"), error=StreamBroken, words="vibes", retried=True),
    "an unknown reason and nothing": Shape(body=says(finish="vibes"), error=StreamBroken, words="vibes"),
    "a reason that says it broke": Shape(body=says(*HELLO, finish="error"), error=StreamBroken, retried=True),
    "too little machine": Shape(body=says(*HELLO, finish="insufficient_system_resource"), error=Overloaded, retried=True),
    "a clean close without any end": Shape(body=says(*HELLO, finish=None, end=b""), error=StreamBroken, retried=True),
    "a clean close after the reason": Shape(body=says(*HELLO, end=b""), text="Hello."),
    "a reason and then usage alone": Shape(body=sse(delta(content="Hello."), delta("stop"), {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}, end=b""), text="Hello."),
    "no blank line at the end": Shape(body=says(*HELLO).rstrip(), text="Hello."),
    "no blank lines at all": Shape(body=says(*HELLO).replace(b"\n\n", b"\n"), text="Hello."),
    "Claude: no reason": Shape(dialect="anthropic", body=claude_says("Hello.", None), text="Hello.", stop="end", notice=""),
    "Claude: a reason in capitals": Shape(dialect="anthropic", body=claude_says("Hello.", "END_TURN"), text="Hello.", notice=""),
    "Claude: an unknown reason": Shape(dialect="anthropic", body=claude_says("Hello.", "vibes"), text="Hello.", notice="unknown_stop"),
    "Claude: no end mark": Shape(dialect="anthropic", body=claude_says("Hello.").replace(event("message_stop"), b""), error=StreamBroken, retried=True),
    "Claude: nothing but the beginning": Shape(dialect="anthropic", body=BEGIN + event("message_stop"), error=StreamBroken),
}  # fmt: skip
