// Generated from paca/web/labels.py by `make docs`; change the labels there.

export const STATUSES = new Map(Object.entries({
  "queued": {
    "label": "Queued",
    "icon": "circle-dashed"
  },
  "running": {
    "label": "Working",
    "icon": "loader-circle"
  },
  "waiting": {
    "label": "Waiting",
    "icon": "clock"
  },
  "paused": {
    "label": "Paused",
    "icon": "pause"
  },
  "finished": {
    "label": "Done",
    "icon": "circle-check"
  },
  "failed": {
    "label": "Failed",
    "icon": "circle-x"
  },
  "stopped": {
    "label": "Stopped",
    "icon": "circle-stop"
  }
}));

export const REASONS = new Map(Object.entries({
  "start": "waits for a start",
  "agent_paused": "agent paused",
  "agent_busy": "agent busy",
  "newer_worker": "workers too old",
  "agent_inactive": "agent inactive",
  "by_person": "by a person",
  "step_limit": "step limit",
  "token_budget": "token limit",
  "cost_budget": "cost limit",
  "time_limit": "time limit",
  "rate_limited": "rate limit",
  "model_unavailable": "model unavailable",
  "stuck": "no progress",
  "context_full": "conversation too long",
  "parked": "parked",
  "configuration": "settings",
  "model_refused": "model refused",
  "sandbox": "sandbox",
  "helpers": "helpers at work",
  "sandbox_error": "sandbox",
  "internal": "error in Paca",
  "agent_removed": "agent retired",
  "project_paused": "project paused",
  "project_deleted": "project deleted",
  "task_deleted": "task deleted",
  "doc_deleted": "doc deleted",
  "unassigned": "unassigned"
}));

export const STATUSES_WITH_REASON = [
  "queued",
  "waiting",
  "paused",
  "failed",
  "stopped"
];

export const WAITS_FOR_PEOPLE = [
  "approval",
  "question"
];

export const NEEDS_YOU = new Map(Object.entries({
  "label": "Needs you",
  "icon": "hand"
}));

export const WAITS_FOR = new Map(Object.entries({
  "start": "Waiting until a person starts it",
  "worker": "Waiting for a worker",
  "agent_paused": "Waiting: the agent is paused",
  "agent_inactive": "Waiting: the agent is inactive",
  "agent_busy": "Waiting: the agent works on as many conversations as it may",
  "newer_worker": "Waiting: the workers are of an older version. Restart them."
}));

export const ACTIVITIES = new Map(Object.entries({
  "starting_sandbox": "Starting the sandbox",
  "waiting_for_worker": "Waiting for a worker",
  "waiting_for_model": "Waiting for the model",
  "thinking": "Thinking",
  "running_tool": "Running a tool",
  "retrying": "Retrying the model",
  "compacting": "Summarising what came before"
}));

export const SANDBOX_PHASES = new Map(Object.entries({
  "copy": "copying files",
  "check": "asking the backend",
  "setup": "running the setup commands",
  "queue": "waiting for another start to end",
  "create": "creating it",
  "start": "starting it"
}));
