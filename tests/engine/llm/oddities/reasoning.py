"""Reasoning: in fields of every name, between tags, and in place of an answer."""

from tests.engine.llm.oddities.shape import LS, Shape, calling, delta, says, sse

OPEN, CLOSE = "<think>", "</think>"
PART = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
SHAPES = {
    "reasoning_content": Shape(body=sse(delta(reasoning_content="Hm."), delta(content="Hello."), delta("stop")), thinking="Hm.", text="Hello."),
    "reasoning": Shape(body=sse(delta(reasoning="Hm."), delta(content="Hello."), delta("stop")), thinking="Hm.", text="Hello."),
    "both names": Shape(body=sse(delta(reasoning="Hm.", reasoning_content="Hm."), delta(content="Hello."), delta("stop")), thinking="Hm.", text="Hello."),
    "parts of a content": Shape(body=sse(delta(content=[PART]), delta(content=[{"type": "text", "text": "Hello."}]), delta("stop")), thinking="Hm.", text="Hello."),
    "tags in one piece": Shape(body=says(f"{OPEN}\nHm.{CLOSE}\n\nHello."), thinking="Hm.", text="Hello."),
    "tags cut anywhere": Shape(body=says("<th", "ink>H", "m.</", "thi", "nk>\n", "\nHel", "lo."), thinking="Hm.", text="Hello."),
    "tags letter by letter": Shape(body=says(*f"{OPEN}Hm.{CLOSE}Hello."), thinking="Hm.", text="Hello."),
    "blanks before the tag": Shape(body=says("\n ", f"{OPEN}Hm.{CLOSE}Hello."), thinking="Hm.", text="Hello."),
    "only the closing tag": Shape(body=says("Hm", ".\n", CLOSE, "\n\nHello."), thinking="Hm.\n", text="Hello."),
    "only the closing tag, cut": Shape(body=says("Hm.\n</", "think>", "\nHello."), thinking="Hm.\n", text="Hello."),
    "an empty thought": Shape(body=says(f"{OPEN}\n\n{CLOSE}\n\nHello."), thinking="", text="Hello."),
    "an open tag without an end": Shape(body=says(f"{OPEN}Hm."), thinking="Hm.", text=""),
    "another word for the tag": Shape(body=says("<thinking>Hm.</thinking>Hello."), thinking="Hm.", text="Hello."),
    "square brackets": Shape(body=says("[THI", "NK]Hm.[/THINK]Hello."), thinking="Hm.", text="Hello."),
    "a tag in code stays text": Shape(body=says("Use `</thi", "nk>` here."), thinking="", text="Use `</think>` here."),
    "a tag in a sentence stays text": Shape(body=says("The tag </think> ends it."), thinking="", text="The tag </think> ends it."),
    "an opening tag later stays text": Shape(body=says("Write ", OPEN, " first."), thinking="", text="Write <think> first."),
    "tags in a block of code stay text": Shape(body=says("So:\n```\n", "<thi", "nk>\nHm.\n</think>\nHi\n```\nDone."), thinking="", text="So:\n```\n<think>\nHm.\n</think>\nHi\n```\nDone."),
    "a closing tag in a block of code stays text": Shape(body=says("So:\n``", "`\n</think>\n```\nDone."), thinking="", text="So:\n```\n</think>\n```\nDone."),
    "tags on lines of their own stay text": Shape(body=says("Write\n<think>\nHm.\n</think>\nfirst."), thinking="", text="Write\n<think>\nHm.\n</think>\nfirst."),
    "a closing tag after a block of code": Shape(body=says("Try\n```\nls\n```\n", CLOSE, "\nHello."), thinking="Try\n```\nls\n```\n", text="Hello."),
    "less than stays text": Shape(body=says("1 <", " 2"), thinking="", text="1 < 2"),
    "an answer that ends in a half tag": Shape(body=says("1 <th"), text="1 <th"),
    "a thought, then a call": Shape(body=says(f"{OPEN}Hm.{CLOSE}", finish=None, end=b"") + calling('{"command": "ls"}'), thinking="Hm.", calls=(("bash", LS),)),
    "everything in the reasoning": Shape(body=sse(delta(reasoning_content="It is 4."), delta("stop")), thinking="It is 4.", text="", stop="end"),
}  # fmt: skip
