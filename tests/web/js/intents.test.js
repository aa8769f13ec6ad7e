import { check, same, test } from "./harness.js";
import { Intents } from "../../../paca/web/static/paca/core/intents.js";
import { ApiError } from "../../../paca/web/static/paca/core/api.js";

async function failing(intents, intent, status) {
  let used = "";
  try {
    await intents.run(intent, async (key) => {
      used = key;
      throw new ApiError({ status, code: "x", detail: "x" });
    });
  } catch (error) {
    check(error instanceof ApiError);
  }
  return used;
}

test("an intent whose answer is lost keeps its key, and another intent has another one", async () => {
  const intents = new Intents();
  const lost = await failing(intents, "doc", 0);
  same(await failing(intents, "doc", 503), lost);
  check((await failing(intents, "file", 0)) !== lost);
  same(await intents.run("doc", async (key) => key), lost);
});

test("an intent that the server has answered begins anew", async () => {
  const intents = new Intents();
  const first = await intents.run("doc", async (key) => key);
  const refused = await failing(intents, "doc", 409);
  check(first !== refused);
  check((await failing(intents, "doc", 0)) !== refused);
});
