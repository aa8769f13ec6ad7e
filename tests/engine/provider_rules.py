"""The rules of providers for the messages of a request (law 4), as a check on a history."""

from paca.engine.llm.base import Message, Text, Thinking, ToolResult, ToolUse


def violations(messages: tuple[Message, ...]) -> list[str]:
    """The reasons for which a provider would refuse these messages; empty if it accepts them."""
    found = []
    if not messages or messages[0].role != "user" or messages[-1].role != "user":
        found.append("must begin and end with a user's message")
    for before, after in zip(messages, messages[1:], strict=False):
        if before.role == after.role:
            found.append("roles must alternate")
    for index, message in enumerate(messages):
        found += _block_violations(message)
        calls = [block.call_id for block in message.blocks if isinstance(block, ToolUse)]
        following = messages[index + 1].blocks if index + 1 < len(messages) else ()
        results = [block.call_id for block in following if isinstance(block, ToolResult)]
        if message.role == "assistant" and calls != results:
            found.append(f"calls {calls} are answered by {results}")
        if calls and any(isinstance(block, Text) for block in following[: len(calls)]):
            found.append("results must come first")
    return found


def _block_violations(message: Message) -> list[str]:
    found = []
    if not message.blocks:
        found.append("a message is empty")
    for block in message.blocks:
        if isinstance(block, Text) and not block.text.strip():
            found.append("a text is empty")
        if isinstance(block, ToolResult) and not block.output.strip():
            found.append("a result is empty")
        allowed = (Text, ToolResult) if message.role == "user" else (Text, Thinking, ToolUse)
        if not isinstance(block, allowed):
            found.append(f"{type(block).__name__} from {message.role}")
    if message.role == "assistant" and all(isinstance(b, Thinking) for b in message.blocks):
        found.append("only thoughts")
    return found
