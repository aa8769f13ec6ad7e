"""The JSON form of an agent's key, and odd answers to what is done with it."""

import json

import pytest

from paca.agents.services.checks import MAX_KEY_CHARACTERS
from paca.engine.llm.clouds import access_token
from paca.engine.llm.credentials import Credentials, secrets_of
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.litellm import library
from paca.engine.llm.model_errors import ModelMisconfigured, RequestRefused, StreamBroken

NESTED = '{"a":' * (MAX_KEY_CHARACTERS // 6) + "1" + "}" * (MAX_KEY_CHARACTERS // 6)


@pytest.mark.parametrize("key", ["{", NESTED])
def test_key_that_is_no_usable_json_is_refused_and_stays_a_secret(key):
    with pytest.raises(ModelMisconfigured, match="no valid JSON"):
        Credentials.parse("vertex_ai", key)
    assert secrets_of(key) == [key]


class Answering:
    """Stands for a sender whose server answers each request with this body."""

    limits = TimeLimits()

    def __init__(self, body: bytes) -> None:
        self.body, self.closed = body, False

    async def send(self, request, budget):
        return self

    async def aiter_bytes(self):
        yield self.body

    async def aclose(self) -> None:
        self.closed = True


@pytest.mark.anyio
@pytest.mark.parametrize("body", [b"[" * 60_000, b"", b"[]", b'{"expires_in": 9}'])
async def test_token_service_that_answers_without_a_token_is_named(body):
    answering = Answering(body)
    with pytest.raises(StreamBroken, match=r"iam\.test answered without an access token"):
        await access_token.of_ibm("key", "https://iam.test", answering)
    assert answering.closed


@pytest.mark.anyio
async def test_history_that_litellm_cannot_translate_is_a_refusal_without_its_words():
    def translate(text):
        return json.loads(text)["messages"]

    with pytest.raises(RequestRefused, match="KeyError of litellm") as refusal:
        await library.in_thread(translate, '{"secret": "words of a person"}')
    assert "person" not in refusal.value.detail
