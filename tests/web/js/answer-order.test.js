import { same, test } from "./harness.js";
import { ApiError } from "../../../paca/web/static/paca/core/api.js";
import { AnswerOrder } from "../../../paca/web/static/paca/core/answer-order.js";

/** Requests that are answered when the test says so: `server.answers[n](value)` answers the request n. */
function heldServer() {
  const answers = [];
  return { answers, ask: () => new Promise((resolve) => answers.push(resolve)) };
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

function page() {
  const held = { value: "" };
  return { held, take: (value) => { held.value = value; } };
}

test("a read from before a save does not replace what was saved, and is made again", async () => {
  const [order, server, { held, take }] = [new AnswerOrder(), heldServer(), page()];
  const read = order.read(server.ask, take);
  const written = order.write(server.ask, take);
  server.answers[1]("saved");
  same(await written, "saved");
  server.answers[0]("before the save");
  await settled();
  same(held.value, "saved");
  server.answers[2]("saved, and then changed by another person");
  await read;
  same(held.value, "saved, and then changed by another person");
});

test("of two reads the later one counts, whichever is answered last", async () => {
  const [order, server, { held, take }] = [new AnswerOrder(), heldServer(), page()];
  const reads = [order.read(server.ask, take), order.read(server.ask, take)];
  server.answers[1]("later");
  await reads[1];
  server.answers[0]("earlier");
  await reads[0];
  same(held.value, "later");
  same(server.answers.length, 2);
});

test("an answer that comes in order is taken at once", async () => {
  const [order, server, { held, take }] = [new AnswerOrder(), heldServer(), page()];
  const first = order.read(server.ask, take);
  const second = order.read(server.ask, take);
  server.answers[0]("first");
  await first;
  same(held.value, "first");
  server.answers[1]("second");
  await second;
  same(held.value, "second");
});

test("a failed read or save changes nothing, and the next ones work", async () => {
  const [order, { held, take }] = [new AnswerOrder(), page()];
  const failing = () => Promise.reject(new Error("offline"));
  let failures = 0;
  for (const way of ["read", "write"]) await order[way](failing, take).catch(() => { failures += 1; });
  same([failures, held.value], [2, ""]);
  await order.read(async () => "there", take);
  same(held.value, "there");
});

test("a save whose answer comes after a newer read is followed by another read, whose failure is none of the save", async () => {
  const [order, server, { held, take }] = [new AnswerOrder(), heldServer(), page()];
  const written = order.write(server.ask, take, () => order.read(server.ask, take));
  const read = order.read(server.ask, take);
  server.answers[1]("mine, and then theirs");
  await read;
  server.answers[0]("mine");
  await settled();
  server.answers[2]("mine, and then theirs");
  await written;
  same(held.value, "mine, and then theirs");
  const again = order.write(server.ask, take, () => Promise.reject(new ApiError({ status: 0, code: "offline", detail: "" })));
  order.renew();
  server.answers[3]("stored");
  same(await again, "stored");
});
