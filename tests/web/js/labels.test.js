import { same, test } from "./harness.js";
import { goesOnByItself, noteInWords, resumeLabel, stateOf } from "../../../paca/web/static/paca/conversation/labels.js";

test("stateOf gives label, icon, tone and the reason in words", () => {
  same(stateOf({ status: "paused", reason: "step_limit" }), { label: "Paused", icon: "pause", tone: "paused", reason: "step limit" });
});

test("stateOf shows no reason with a status that has none", () => {
  same(stateOf({ status: "running", reason: "step_limit" }).reason, "");
});

test("only what waits for a person needs a person", () => {
  const seen = (reason) => stateOf({ status: "waiting", reason });
  same(seen("sandbox"), { label: "Waiting", icon: "clock", tone: "queued", reason: "sandbox" });
  same(seen("approval"), { label: "Needs you", icon: "hand", tone: "waiting", reason: "" });
});

test("queued state tells why the agent has not begun", () => {
  same(stateOf({ status: "queued", waitsFor: "agent_busy" }).reason, "agent busy");
  same(stateOf({ status: "queued", waitsFor: "worker" }).reason, "");
});

test("stateOf shows no reason that it does not know", () => {
  same(stateOf({ status: "failed", reason: "of tomorrow" }), { label: "Failed", icon: "circle-x", tone: "failed", reason: "" });
});

test("stateOf shows a status that it does not know as it is", () => {
  same(stateOf({ status: "dreaming" }), { label: "dreaming", icon: "circle-help", tone: "dreaming", reason: "" });
});

test("conversation that waits for its sandbox goes on by itself, and one that waits for a person does not", () => {
  const found = ["queued", "running", "paused", "finished"].filter((status) => goesOnByItself({ status }));
  same(found, ["queued", "running"]);
  same(["sandbox", "approval"].map((reason) => goesOnByItself({ status: "waiting", reason })), [true, false]);
});

test("resumeLabel says what Continue gives at a limit", () => {
  const label = (reason, limit) => resumeLabel({ type: "agent.conversation.paused", data: { reason, limit } });
  same(label("token_budget", 1000000), "Continue with another 1,000,000 tokens");
  same(label("cost_budget", 2), "Continue with another 2.00 dollars");
  same(label("time_limit", 600), "Continue with another 10 minutes");
  same(label("time_limit", 45), "Continue with another 45 seconds");
  same(label("step_limit", 1), "Continue with another 1 step");
  same(label("by_person", null), "Continue");
  const shared = { type: "agent.conversation.paused", data: { reason: "cost_budget", limit: 5, budget: "agent_day", detail: "Ada can raise it." } };
  same(resumeLabel(shared), "Continue");
  const { fact, more } = noteInWords(shared, { agent: "Rosa" });
  same([fact, more], ["Paused at the cost limit of the agent for today.", "Ada can raise it."]);
  same(label("parked", null), "Try again");
  same(resumeLabel({ type: "agent.conversation.failed", data: {} }), "Try again");
});
