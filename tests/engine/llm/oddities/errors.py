"""Errors in every form, under every status. ``retried`` says whether another attempt can help."""

from paca.engine.llm.model_errors import (
    ContextExceeded,
    KeyRefused,
    ModelLoading,
    ModelMisconfigured,
    NoCredit,
    Overloaded,
    RateLimited,
    RequestRefused,
    StreamBroken,
    ToolsUnsupported,
)
from tests.engine.llm.oddities.shape import (
    BEGIN,
    Shape,
    as_json,
    claude_says,
    delta,
    event,
    sse,
)

HALF = delta(content="Hel")


def at(status: int, value: object, error: type, words: str, *, retried: bool = False) -> Shape:
    body = value if isinstance(value, bytes) else as_json(value)
    return Shape(status=status, body=body, label="application/json", error=error, words=words, retried=retried)  # fmt: skip


SHAPES = {
    "under 200: no balance": at(200, {"error": {"message": "Insufficient account balance"}}, NoCredit, "Insufficient account balance"),
    "under 200: a code of the service": at(200, {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, NoCredit, "insufficient balance"),
    "under 200: a text": at(200, {"error": "model 'x' not loaded"}, RequestRefused, "not loaded"),
    "under 200: overloaded": at(200, {"error": {"message": "Engine overloaded, try again", "type": "engine_overloaded_error"}}, Overloaded, "overloaded", retried=True),
    "under 200: code and message": at(200, {"code": 40001, "message": "parameter invalid", "data": None}, RequestRefused, "parameter invalid"),
    "under 200: a list of errors": at(200, [{"error": {"message": "API key expired", "code": 400}}], RequestRefused, "API key expired"),
    "under 200: vLLM": at(200, {"object": "error", "message": "The model is overloaded", "code": 503}, Overloaded, "overloaded", retried=True),
    "JSON in the message": at(400, {"error": {"message": '{"error": {"message": "input too big", "code": 400}}'}}, RequestRefused, "says: input too big"),
    "JSON after a sentence": at(400, {"error": {"message": 'litellm.BadRequestError: {"error": {"message": "roles wrong"}}'}}, RequestRefused, "roles wrong"),
    "a gateway's raw answer": at(400, {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": '{"detail": "image too large"}'}}}, RequestRefused, "image too large"),
    "FastAPI": at(422, {"detail": [{"loc": ["body"], "msg": "field required", "type": "missing"}]}, RequestRefused, "field required"),
    "a text": at(500, b"Internal error: worker died", Overloaded, "worker died", retried=True),
    "a page": at(502, b"<html><head><title>502 Bad Gateway</title></head><body><center>nginx</center></body></html>", Overloaded, "says: 502 Bad Gateway", retried=True),
    "Spring": at(400, {"timestamp": "now", "status": 400, "error": "Bad Request", "message": "messages is empty"}, RequestRefused, "messages is empty"),
    "problem+json": at(400, {"type": "about:blank", "title": "Bad", "detail": "n must be 1"}, RequestRefused, "n must be 1"),
    "half a character": at(400, b'{"error":{"message":"Invalid value near \'hello \\ud83d\'"}}', RequestRefused, "near 'hello ?'"),
    "NUL": at(400, b'{"error":{"message":"bad \\u0000 byte"}}', RequestRefused, "bad \u2400 byte"),
    "bytes that are no text": at(500, b"\xff\xfe\x00failed", Overloaded, "failed", retried=True),
    "cut JSON": at(400, b'{"error":{"message":"temperature is', RequestRefused, "temperature is"),
    "no words": at(400, {}, RequestRefused, "HTTP 400"),
    "no tools": at(400, {"error": {"message": "registry.ollama.ai/library/gemma:2b does not support tools"}}, ToolsUnsupported, "does not support tools"),
    "no tools: vLLM": at(400, {"object": "error", "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', "code": 400}, ToolsUnsupported, "tool choice"),
    "no tools: OpenRouter": at(404, {"error": {"message": "No endpoints found that support tool use.", "code": 404}}, ToolsUnsupported, "tool use"),
    "no tools: llama.cpp": at(500, {"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}}, ToolsUnsupported, "jinja"),
    "too long: OpenAI": at(400, {"error": {"message": "This model's maximum context length is 8192 tokens.", "code": "context_length_exceeded"}}, ContextExceeded, "8192"),
    "too long: llama.cpp": at(400, {"error": {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error"}}, ContextExceeded, "context size"),
    "too long: Gemini": at(400, [{"error": {"code": 400, "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}], ContextExceeded, "1048576"),
    "too long: Mistral": at(400, {"object": "error", "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"}, ContextExceeded, "32768"),
    "too long: xAI": at(400, {"code": "invalid argument", "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."}, ContextExceeded, "131072"),
    "loading": at(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}, ModelLoading, "Loading model", retried=True),
    "loading: Hugging Face": at(503, {"error": "Model x is currently loading", "estimated_time": 20.0}, ModelLoading, "loading", retried=True),
    "a quota of a minute": at(429, {"error": {"message": "You exceeded your current quota, please check your plan and billing details. Please retry in 35s."}}, RateLimited, "retry in 35s", retried=True),
    "a quota for good": at(429, {"error": {"message": "You exceeded your current quota, please check your plan and billing details.", "code": "insufficient_quota"}}, NoCredit, "quota"),
    "a key under 400": at(400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}], KeyRefused, "API key"),
    "no such model": at(404, {"error": {"message": "model 'x' not found, try pulling it first"}}, ModelMisconfigured, "try pulling it"),
    "no such path": at(404, {"detail": "Not Found"}, ModelMisconfigured, "/v1 at its end"),
    "not implemented": at(501, {"error": {"message": "not implemented"}}, RequestRefused, "not implemented"),
    "a template under 500": at(500, {"error": {"code": 500, "message": "Conversation roles must alternate user/assistant/user/assistant/..."}}, RequestRefused, "alternate"),
    "in mid-stream": Shape(body=sse(HALF, {"error": {"message": "worker lost", "code": 1}}), error=StreamBroken, words="worker lost", retried=True),
    "in mid-stream, in a choice": Shape(body=sse(HALF, {"choices": [{"index": 0, "delta": {}, "error": {"code": 502, "message": "upstream died"}, "finish_reason": "error"}]}), error=Overloaded, words="upstream died", retried=True),
    "in mid-stream, a bare line": Shape(body=sse(HALF, end=b'{"error": {"message": "out of memory", "code": 500}}\n\n'), error=Overloaded, words="out of memory", retried=True),
    "in mid-stream, an event named error": Shape(body=sse(HALF, end=b'event: error\ndata: {"message": "rate limit"}\n\n'), error=RateLimited, words="rate limit", retried=True),
    "in mid-stream, a text": Shape(body=sse(HALF, end=b"event: error\ndata: the worker has gone\n\n"), error=StreamBroken, words="worker has gone", retried=True),
    "in mid-stream, no credit": Shape(body=sse(HALF, {"error": {"message": "Insufficient credits", "code": 402}}), error=NoCredit, words="Insufficient credits", retried=False),
    "first in a stream": Shape(body=sse({"error": {"message": "unknown field foo", "code": 400}}), error=RequestRefused, words="unknown field foo", retried=False),
    "Claude: under 200": Shape(dialect="anthropic", body=as_json({"type": "error", "error": {"type": "billing_error", "message": "Credit balance is too low"}}), error=NoCredit, words="too low", retried=False),
    "Claude: a text under 500": Shape(dialect="anthropic", status=500, body=b"worker died", error=Overloaded, words="worker died", retried=True),
    "Claude: a page under 502": Shape(dialect="anthropic", status=502, body=b"<html><title>502 Bad Gateway</title></html>", error=Overloaded, words="502 Bad Gateway", retried=True),
    "Claude: half a character": Shape(dialect="anthropic", status=400, body=b'{"type":"error","error":{"type":"invalid_request_error","message":"near \\ud83d"}}', error=RequestRefused, words="near ?", retried=False),
    "Claude: in mid-stream": Shape(dialect="anthropic", body=BEGIN + event("error", error={"type": "overloaded_error", "message": "Overloaded"}), error=Overloaded, words="Overloaded", retried=True),
    "Claude: first, of an unknown type": Shape(dialect="anthropic", body=event("error", error={"type": "odd_error", "message": "No."}), error=RequestRefused, words="No.", retried=False),
    "Claude: after text, of an unknown type": Shape(dialect="anthropic", body=claude_says("Hel").partition(b"event: message_delta")[0] + event("error", error={"type": "odd_error", "message": "No."}), error=StreamBroken, words="No.", retried=True),
}  # fmt: skip
