"""Encodes requests in OpenAI's dialect. The bytes of the prefix never change, for the provider's cache."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from paca.engine.llm.base import (
    Image,
    Message,
    Request,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
)
from paca.engine.llm.encoded_tools import ToolsEncoder, object_to_json, to_json
from paca.engine.llm.model_errors import ModelError
from paca.engine.llm.openai import parameters
from paca.engine.llm.openai.attachments import TEXT_FIELD
from paca.engine.llm.openai.server_form import ServerForm
from paca.engine.llm.providers import Provider
from paca.engine.llm.seen_images import SeenImages, without_images

NO_OUTPUT = "(no output)"
# Stands between results and a person's words, for servers whose template wants a reply there.
RESULTS_READ = "I have read the results."
# A result has text only in this dialect: its images follow as if a person had sent them.
IMAGES_OF_RESULTS = (
    "The images of the results above, in their order. They are data, not words of a person."
)


class Encoder:
    """Encodes the requests of one run. It keeps the bytes of what it has encoded before."""

    def __init__(self, provider: Provider, model: str, *, own_address: bool, family: str) -> None:
        self._provider = provider
        self._model = provider.model(model)
        self._own_address = own_address
        self._family = family
        self._form: ServerForm | None = None
        self._encoded: list[tuple[Message, bytes]] = []
        self._encoded_head: tuple[Request, bytes] | None = None
        self._images = SeenImages()

    def encode(self, request: Request, form: ServerForm) -> bytes:
        """The body of the request as JSON. Raises ``ModelMisconfigured`` for an unknown parameter."""
        if form != self._form:
            self._form = form
            self._encoded.clear()
            self._encoded_head = None
        head = self._head_bytes(request, form)
        given = request.messages
        seen = self._images.of(given) if form.sees_images else without_images(given)
        messages = b",".join(self._messages(replace(request, messages=seen), form))
        return head[:-1] + b',"messages":[' + messages + b"]}"

    def drop_images(self, request: Request, refusal: ModelError, form: ServerForm) -> bool:
        """Leave out the images of these messages from now on; False if they are not what was refused."""
        return form.sees_images and self._images.drop_refused(request.messages, refusal)

    def _head_bytes(self, request: Request, form: ServerForm) -> bytes:
        """The head of this form as JSON, which stays the same for the whole run."""
        if self._encoded_head is None or not request.has_head_of(self._encoded_head[0]):
            head = object_to_json(self._head(request, form))
            self._encoded_head = replace(request, messages=()), head
        return self._encoded_head[1]

    def _head(self, request: Request, form: ServerForm) -> dict[str, Any]:
        """All fields except the messages, in a fixed order."""
        head: dict[str, Any] = {"model": self._model, "stream": True}
        if form.asks_usage:
            head["stream_options"] = {"include_usage": True}
        if request.tools:
            head["tools"] = TOOLS.encode(request.tools)
            if not request.may_call:
                head["tool_choice"] = "none"
        return head | parameters.encode(
            request.parameters,
            request.max_tokens,
            provider=self._provider.name,
            max_tokens_name=form.max_tokens_name,
            own_address=self._own_address,
        )

    def _messages(self, request: Request, form: ServerForm) -> Iterator[bytes]:
        """Each message as JSON. Those that were encoded for the request before are not encoded again."""
        if request.system:
            yield to_json({"role": "system", "content": request.system})
        for number, message in enumerate(request.messages):
            known = self._encoded[number] if number < len(self._encoded) else None
            if known is None or known[0] is not message:
                del self._encoded[number:]
                known = (
                    message,
                    b",".join(to_json(one) for one in _message(message, form, self._family)),
                )
                self._encoded.append(known)
            if known[1]:
                yield known[1]


def _tool(spec: ToolSpec) -> dict[str, Any]:
    facts = {"name": spec.name, "description": spec.description, "parameters": spec.arguments}
    return {"type": "function", "function": facts}


TOOLS = ToolsEncoder(lambda tools: [_tool(spec) for spec in tools])


def _message(message: Message, form: ServerForm, family: str) -> Iterator[dict[str, Any]]:
    """The messages in OpenAI's form: each result is one, right after the calls, then the text."""
    text = "\n\n".join(block.text for block in message.blocks if isinstance(block, Text))
    if message.role == "assistant":
        yield _reply(message, text, form, family)
        return
    results = [block for block in message.blocks if isinstance(block, ToolResult)]
    for result in results:
        output = result.text or NO_OUTPUT
        content = f"Failed: {output}" if result.failed else output
        call_id = result.call_id[: form.call_id_length]
        yield {"role": "tool", "tool_call_id": call_id, "content": content}
    images = [_image(image) for result in results for image in result.images]
    if text or images:
        # guard: engine-reply-after-results
        if results and form.reply_after_results:
            yield {"role": "assistant", "content": RESULTS_READ}
        yield {"role": "user", "content": _with_images(text, images) if images else text}


def _with_images(text: str, images: list[dict[str, Any]]) -> list[dict[str, Any]]:
    words = [{"type": "text", "text": text}] if text else []
    return [{"type": "text", "text": IMAGES_OF_RESULTS}, *images, *words]


def _image(image: Image) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{image.kind};base64,{image.data}"}}


def _reply(message: Message, text: str, form: ServerForm, family: str) -> dict[str, Any]:
    uses = [block for block in message.blocks if isinstance(block, ToolUse)]
    encoded: dict[str, Any] = {"role": "assistant", "content": text or None}
    for block in message.blocks:
        if isinstance(block, Thinking):
            encoded |= _attached_to_reply(block, family, has_calls=bool(uses))
    if uses:
        encoded["tool_calls"] = [_call(use, form, family) for use in uses]
    return encoded


def _attached_to_reply(block: Thinking, family: str, *, has_calls: bool) -> dict[str, Any]:
    """What this family attached to the reply. The reasoning itself goes back only with tool calls."""
    # guard: engine-attached-to-its-family
    fields = dict(block.attached.get(family, {}))
    text_field = fields.pop(TEXT_FIELD, "")
    if text_field and has_calls:
        fields[text_field] = block.text
    return fields


def _call(use: ToolUse, form: ServerForm, family: str) -> dict[str, Any]:
    fields = dict(use.attached.get(family, {}))
    inner = fields.pop("function", {})
    function = {**inner, "name": use.tool, "arguments": to_json(use.arguments).decode()}
    call_id = use.call_id[: form.call_id_length]
    return {**fields, "id": call_id, "type": "function", "function": function}
