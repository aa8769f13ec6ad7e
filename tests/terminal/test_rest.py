"""The client's requests: what it makes of wrong addresses, refused tokens, other programs and lost answers."""

import httpx2
import pytest

from paca.terminal import places, rest
from paca.terminal.failures import ClientFailure, ExitCode
from paca.terminal.rest import Rest, ServerAddress

pytestmark = pytest.mark.anyio
TOKEN = "paca_token-of-a-test"
PROJECTS = [{"id": "p1", "name": "Harbor", "prefix": "HARB"}, {"id": "p2", "name": "Mill"}]
AGENTS = [{"id": "a1", "handle": "rosa"}, {"id": "a2", "handle": "guide"}]


def client(answer, url: str = "https://paca.test") -> Rest:
    return Rest(ServerAddress(url, TOKEN), transport=httpx2.MockTransport(answer))


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch):
    monkeypatch.setattr(rest, "FIRST_PAUSE_SECONDS", 0)


async def failure_of(answer) -> ClientFailure:
    with pytest.raises(ClientFailure) as raised:
        await client(answer).get("projects/")
    assert TOKEN not in f"{raised.value.cause} {raised.value.next_step}"
    return raised.value


def error(status: int, code: str = "x", detail: str = "No."):
    return lambda request: httpx2.Response(status, json={"code": code, "detail": detail})


@pytest.mark.parametrize(
    ("answer", "exit_code", "words"),
    [
        (error(401), ExitCode.REFUSED, "refuses this token"),
        (error(403, detail="Your role lacks it."), ExitCode.REFUSED, "Your role lacks it."),
        (error(404, detail="Not found."), ExitCode.WRONG_REQUEST, "Not found."),
        (error(503), ExitCode.UNREACHABLE, "No."),
        (lambda request: httpx2.Response(404, text="<h1>"), ExitCode.UNREACHABLE, "not as Paca"),
        (lambda request: httpx2.Response(200, json=[1]), ExitCode.UNREACHABLE, "not as Paca"),
        (
            lambda request: httpx2.Response(302, headers={"Location": "https://evil.test/"}),
            ExitCode.UNREACHABLE,
            "not as Paca",
        ),
    ],
)
async def test_refusal_says_what_is_wrong_and_ends_with_its_exit_code(answer, exit_code, words):
    failure = await failure_of(answer)
    assert (failure.exit_code, words in failure.cause) == (exit_code, True), failure.cause


async def test_server_that_does_not_answer_is_tried_again_and_then_named():
    asked = []

    def answer(request):
        asked.append(request)
        raise httpx2.ConnectError("refused")

    failure = await failure_of(answer)
    assert (failure.exit_code, len(asked)) == (ExitCode.UNREACHABLE, rest.ATTEMPTS)
    assert failure.cause == "Nothing answers at https://paca.test: refused."


async def test_request_whose_answer_is_lost_is_sent_again_with_the_same_key():
    keys = []

    def answer(request):
        keys.append(request.headers["Idempotency-Key"])
        assert request.headers["Authorization"] == f"Bearer {TOKEN}"
        if len(keys) == 1:
            raise httpx2.ReadError("cut")
        return httpx2.Response(201, json={"conversation": "c"})

    assert await client(answer).post("x/", {"message": "Hi"}) == {"conversation": "c"}
    assert len(keys) == 2
    assert len(set(keys)) == 1


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "http://", "http://me:secret@x", "http://[::1", "x:port", "x:99999", "x:0", "x:-1"],
)
def test_address_that_is_none_is_refused(url):
    with pytest.raises(ClientFailure, match="is no address"):
        ServerAddress(url, TOKEN)


def test_path_behind_the_host_and_a_missing_scheme_do_not_matter():
    address = ServerAddress("127.0.0.1:8000/projects/", TOKEN)
    assert (address.url, address.socket_url) == ("http://127.0.0.1:8000", "ws://127.0.0.1:8000")
    assert address.is_local


def lists(request: httpx2.Request) -> httpx2.Response:
    """Two pages of projects, and the agents of the first. The next page is named by another host."""
    if request.url.path.endswith("/agents/"):
        return httpx2.Response(200, json={"results": AGENTS, "next": None})
    assert request.url.host == "paca.test"
    if request.url.params.get("cursor") == "two":
        return httpx2.Response(200, json={"results": PROJECTS[1:], "next": None})
    following = "http://inside.test/api/v1/projects/?cursor=two"
    return httpx2.Response(200, json={"results": PROJECTS[:1], "next": following})


@pytest.mark.parametrize("named", ["p2", "mill", "MILL"])
async def test_project_is_found_by_id_and_name_on_any_page(named):
    assert (await places.find_project(client(lists), named))["id"] == "p2"


async def test_wrong_and_missing_names_are_answered_with_those_that_there_are():
    for wanted, cause in (("dock", "There is no project 'dock'."), ("", "Which project?")):
        with pytest.raises(ClientFailure) as raised:
            await places.find_project(client(lists), wanted)
        assert raised.value.cause == cause
        assert raised.value.next_step == "give --project, one of: Harbor, Mill"
    with pytest.raises(ClientFailure) as raised:
        await places.find_agent(client(lists), PROJECTS[0], "@max")
    assert raised.value.next_step == "give --agent, one of: guide, rosa"
    assert (await places.find_agent(client(lists), PROJECTS[0], "@Rosa"))["id"] == "a1"
