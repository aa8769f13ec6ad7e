"""What the body is: its label, its first bytes, and whole answers where a stream was asked for."""

from paca.engine.llm.model_errors import StreamBroken
from tests.engine.llm.oddities.shape import (
    LS,
    Shape,
    as_json,
    claude_says,
    delta,
    says,
    sse,
    whole,
)

CALL = {
    "id": "a",
    "type": "function",
    "function": {"name": "bash", "arguments": '{"command": "ls"}'},
}
MESSAGE = {
    "type": "message",
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "SIG"},
        {"type": "text", "text": "Hello."},
        {"type": "tool_use", "id": "t", "name": "bash", "input": LS},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 5, "output_tokens": 6},
}
SHAPES = {
    "labelled text/plain": Shape(body=says("Hello."), label="text/plain", text="Hello."),
    "labelled application/json": Shape(body=says("Hello."), label="application/json", text="Hello."),
    "labelled TEXT/EVENT-STREAM": Shape(body=says("Hello."), label="TEXT/EVENT-STREAM", text="Hello."),
    "labelled text/html": Shape(body=says("Hello."), label="text/html; charset=utf-8", text="Hello."),
    "a byte order mark": Shape(body=b"\xef\xbb\xbf" + says("Hel", "lo."), text="Hello."),
    "blank lines first": Shape(body=b"\r\n\r\n" + says("Hello."), text="Hello."),
    "comments first": Shape(body=b": OPENROUTER PROCESSING\n\n" * 3 + says("Hello."), text="Hello."),
    "carriage returns": Shape(body=says("Hel", "lo.").replace(b"\n", b"\r\n"), text="Hello."),
    "a whole completion": Shape(body=as_json(whole(content="Hello.")), label="application/json", text="Hello.", stop="end"),
    "a whole completion, labelled as a stream": Shape(body=as_json(whole(content="Hello.")), text="Hello."),
    "a whole completion without a reason": Shape(body=as_json(whole(None, content="Hello.")), text="Hello."),
    "a whole completion over many lines": Shape(body=b"\n" + as_json(whole(content="Hello.")).replace(b",", b",\n"), text="Hello."),
    "a whole completion with a call": Shape(body=as_json(whole("tool_calls", content=None, tool_calls=[CALL])), calls=(("bash", LS),), stop="tools"),
    "a whole completion as one event": Shape(body=sse(whole(content="Hello.")), text="Hello."),
    "a whole completion in a list": Shape(body=as_json([whole(content="Hello.")]), text="Hello."),
    "a whole completion that was cut": Shape(body=as_json(whole(content="Hello."))[:-40], error=StreamBroken, retried=True),
    "a chunk a line": Shape(body=b"\n".join(map(as_json, (delta(content="Hello."), delta("stop")))), label="application/x-ndjson", text="Hello."),
    "a chunk a line, without an end": Shape(body=as_json(delta(content="Hello.")) + b"\n" + as_json(delta(content=" And")), error=StreamBroken, retried=True),
    "a page": Shape(body=b"<!doctype html><title>Sign in</title><h1>Guest network</h1>", label="text/html", error=StreamBroken, words="Sign in"),
    "a page, labelled as a stream": Shape(body=b"\n<html><body><h1>502 Bad Gateway</h1></body></html>", error=StreamBroken, words="base URL"),
    "a text": Shape(body=b"upstream connect error or disconnect/reset before headers", label="text/plain", error=StreamBroken, words="upstream connect error"),
    "nothing": Shape(body=b"", error=StreamBroken, retried=True),
    "Claude: labelled text/plain": Shape(dialect="anthropic", body=claude_says("Hello."), label="text/plain", text="Hello."),
    "Claude: a byte order mark": Shape(dialect="anthropic", body=b"\xef\xbb\xbf" + claude_says("Hello."), text="Hello."),
    "Claude: a whole message": Shape(dialect="anthropic", body=as_json(MESSAGE), label="application/json", text="Hello.", thinking="Hm.", calls=(("bash", LS),)),
    "Claude: a page": Shape(dialect="anthropic", body=b"<html><title>Sign in</title></html>", label="text/html", error=StreamBroken, words="Sign in"),
}  # fmt: skip
