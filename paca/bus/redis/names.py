"""The names in Redis that other programs know: streams, the consumer group and channels."""

TRIGGERS = "paca:agent:triggers"
DEAD_TRIGGERS = "paca:agent:triggers:dead"
TRIGGER_RESULTS = "paca:agent:triggers:results"
GROUP = "ai-agent-workers"
EVENTS = "paca:agent:events"
# `paca.live` is only for Paca: streamed text would flood programs that want events.
EVENTS_CHANNEL = "paca.events"
LIVE_CHANNEL = "paca.live"
CONTROL_CHANNEL = "paca.control"
