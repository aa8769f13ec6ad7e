"""How requests to one server and model differ from OpenAI's documented form, known or learned.

A server that refuses a field by its name is asked once more without it. What was learned so is kept
for the process, for this address and model.
"""

import re
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from paca.engine.llm import seen_images
from paca.engine.llm.providers import Provider

MAX_LEARNED = 1000
NEW_NAME = "max_completion_tokens"  # OpenAI's newer models refuse the older name
OLD_NAME = "max_tokens"
# Mistral's templates refuse a person's words right after a result, and its service other call ids.
MISTRAL = re.compile(r"mistral|mixtral|ministral|codestral|devstral|magistral|pixtral")
MISTRAL_ID_LENGTH = 9
NO_USAGE_OPTION = ("mistral", "codestral")  # they always report the usage, and refuse the option
ABOUT_FIELD = r"unsupported|not support|unrecogni|unknown|unexpected|extra|not permitted|forbidden|not allowed|invalid"


@dataclass(frozen=True, slots=True)
class ServerForm:
    """The differences. ``asks_usage``: the request asks for the usage at the end of the stream.

    ``sees_images``: the model takes images. ``reply_after_results``: a short reply must stand between tool results and a person's words.
    """

    max_tokens_name: str = OLD_NAME
    asks_usage: bool = True
    call_id_length: int | None = None
    reply_after_results: bool = False
    sees_images: bool = False


_learned: dict[tuple[str, str], ServerForm] = {}


def form_for(provider: Provider, model: str, address: str) -> ServerForm:
    """The form for this model at this address: as learned in this process, else as known."""
    if learned := _learned.get((address, model)):
        return learned
    is_mistral = bool(MISTRAL.search(f"{provider.name}/{model}".lower()))
    return ServerForm(
        max_tokens_name=provider.max_tokens_name or _max_tokens_name(address),
        asks_usage=provider.name not in NO_USAGE_OPTION,
        call_id_length=MISTRAL_ID_LENGTH if is_mistral else None,
        reply_after_results=is_mistral,
        sees_images=seen_images.can_see(provider.name, model),
    )


def learn(form: ServerForm, refusal: str, *, model: str, address: str) -> ServerForm | None:
    """The form without the field that the server refused; None if the refusal names no such field."""
    changed = _without_refused(form, refusal.lower())
    if changed is not None:
        if len(_learned) >= MAX_LEARNED:
            _learned.pop(next(iter(_learned)))
        _learned[address, model] = changed
    return changed


def _max_tokens_name(address: str) -> str:
    host = urlsplit(address).hostname or ""
    is_openai = host == "api.openai.com" or host.endswith(".openai.azure.com")
    return NEW_NAME if is_openai else OLD_NAME


def _without_refused(form: ServerForm, refusal: str) -> ServerForm | None:
    if not re.search(ABOUT_FIELD, refusal):
        return None
    if form.asks_usage and ("stream_options" in refusal or "include_usage" in refusal):
        return replace(form, asks_usage=False)
    if form.max_tokens_name == OLD_NAME and NEW_NAME in refusal:
        return replace(form, max_tokens_name=NEW_NAME)
    if form.max_tokens_name == NEW_NAME and NEW_NAME in refusal:
        return replace(form, max_tokens_name=OLD_NAME)
    return None
