"""Where spans are exported to, which ``settings.py`` takes over. The names are OpenTelemetry's own."""

from paca import env

__all__ = [
    "OTEL_CAPTURE_MESSAGE_CONTENT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_SERVICE_NAME",
]

OTEL_EXPORTER_OTLP_ENDPOINT = env.http_address(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    meaning="Address of an OpenTelemetry collector, such as http://localhost:4318. Each turn of an agent is sent to "
    "its /v1/traces as OTLP over HTTP in JSON: its steps, model calls and tool calls with their times, tokens and "
    "cost. Empty: nothing is sent.",
)
OTEL_EXPORTER_OTLP_HEADERS = env.header_pairs(
    "OTEL_EXPORTER_OTLP_HEADERS",
    meaning="Headers of each request to it, as name=value with commas between them, for a key of the receiver. "
    "They are secret.",
)
OTEL_SERVICE_NAME = env.text(
    "OTEL_SERVICE_NAME", "paca", meaning="The name of this installation in exported spans."
)
OTEL_CAPTURE_MESSAGE_CONTENT = env.boolean(
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
    False,
    meaning="Whether exported spans also hold what was said, and arguments and results of tool calls, without secrets.",
)
