"""The words of private servers: people read them only where the operator has listed the server."""

import pytest

from paca.engine.llm import address_check, connection_check, http_pool, registry
from paca.engine.llm.address_check import AllowedServers
from paca.engine.llm.http_pool import close_connections
from paca.engine.llm.model_errors import ContextExceeded, ModelError
from tests.engine.llm.request_builders import reply_of, request_with
from tests.support import openai_dialect
from tests.support.model_script import Raw, fails, says

SECRET = "inner-secret"
REFUSAL = openai_dialect.error_body("invalid_request_error", SECRET)
TOO_LONG = openai_dialect.error_body("x", f"{SECRET}: maximum context length is 8192 tokens")
# Each answer holds the secret in another place.
ANSWERS = {
    "a refusal": Raw(REFUSAL, status=400),
    "an unknown status": Raw(SECRET.encode(), status=418),
    "a page": Raw(f"<html><title>{SECRET}</title></html>".encode(), content_type="text/html"),
    "an error in place of an answer": Raw(REFUSAL),
    "a line that is no JSON": Raw(f"data: {SECRET}\n\n".encode()),
    "a text": Raw(SECRET.encode(), content_type="text/plain"),
    "an unknown reason": Raw(openai_dialect.chunk({}, SECRET) + b"data: [DONE]\n\n"),
    "an unknown event": Raw(openai_dialect.frame({"type": SECRET, "message": 1, "choices": [1]})),
    "a redirect": fails("redirect"),
}
MODELS = ("openai/gpt-test", "anthropic/claude-test")


@pytest.fixture
def local(server, monkeypatch):
    """The operator's setting is the word local, and the server's port is a usual one."""
    port = int(server.base_url.rpartition(":")[2])
    monkeypatch.setattr(address_check, "LOCAL_PORTS", (port,))
    monkeypatch.setattr(http_pool._allowed, "servers", AllowedServers.parse(["local"]))
    return port


def base_url(server, model: str) -> str:
    return server.base_url if model.startswith("anthropic/") else f"{server.base_url}/v1"


async def error_of_run(server, model: str, answer) -> ModelError:
    server.script([answer])
    llm = registry.open_llm(model, base_url=base_url(server, model), api_key="k")
    try:
        with pytest.raises(ModelError) as caught:
            await reply_of(llm, request_with("Hi"))
    finally:
        await close_connections()
    return caught.value


@pytest.mark.anyio
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
async def test_run_shows_no_words_of_a_private_server_that_only_local_allows(
    server, local, model, answer
):
    error = await error_of_run(server, model, answer)
    for shown in (error.detail, str(error)):
        assert SECRET not in shown
        assert "elsewhere" not in shown
    assert len(error.detail) > 20
    if error.said:
        assert f"PRIVATE_MODEL_SERVERS=127.0.0.1:{local}" in error.detail


@pytest.mark.anyio
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
async def test_connection_check_shows_no_words_of_a_private_server_that_only_local_allows(
    server, local, answer
):
    server.script([answer])
    result = await connection_check.check_connection(
        MODELS[0], base_url=base_url(server, MODELS[0]), api_key="k"
    )
    assert not result.works
    assert SECRET not in result.detail
    assert "elsewhere" not in result.detail
    assert len(result.detail) > 20


@pytest.mark.anyio
@pytest.mark.parametrize("model", MODELS)
async def test_run_shows_the_words_of_a_private_server_that_the_operator_listed(server, model):
    """The setting of all tests lists the server."""
    assert SECRET in (await error_of_run(server, model, ANSWERS["a refusal"])).detail
    assert "elsewhere" in (await error_of_run(server, model, ANSWERS["a redirect"])).detail


@pytest.mark.anyio
async def test_window_is_learned_from_hidden_words_too(server, local):
    error = await error_of_run(server, MODELS[0], Raw(TOO_LONG, status=400))
    assert isinstance(error, ContextExceeded)
    assert error.window == 8192
    assert SECRET not in error.detail


@pytest.mark.anyio
async def test_model_of_a_private_server_answers_as_any_other(server, local):
    server.script([says("ready")])
    llm = registry.open_llm(MODELS[0], base_url=base_url(server, MODELS[0]), api_key="k")
    assert (await reply_of(llm, request_with("Hi"))).text == "ready"
    await close_connections()


@pytest.mark.anyio
@pytest.mark.parametrize(("kind", "count"), [("model", 2), ("customer", 0)])
async def test_list_of_a_private_server_that_only_local_allows_names_models_only(
    server, local, kind, count
):
    server.served_object = kind
    server.script([says("ready")])
    result = await connection_check.check_connection(
        MODELS[0], base_url=base_url(server, MODELS[0]), api_key="k"
    )
    assert (result.works, len(result.models)) == (True, count)
