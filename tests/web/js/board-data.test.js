import { same, test } from "./harness.js";
import { BoardData } from "../../../paca/web/static/paca/board/board-data.js";
import { boardReducer, emptyBoard, find } from "../../../paca/web/static/paca/board/board-state.js";
import { Store } from "../../../paca/web/static/paca/core/store.js";

globalThis.document ??= { addEventListener() {}, removeEventListener() {}, hidden: false };
globalThis.document.querySelector ??= () => null;

const TODO = { id: "todo", name: "To do", category: "todo" };
const task = (number, title) => ({ number, id: `t${number}`, title, status: TODO, position: number });
const board = (...cards) => ({ columns: [{ status: TODO, count: cards.length, tasks: cards, next: null }] });

const asked = []; // of all tests, which run side by side in a browser
let servers = 0;

globalThis.fetch = (address, { method }) => new Promise((resolve) => {
  asked.push({ name: `${method} ${address.split("?")[0]}`, resolve });
});

/** The oldest request of this name, once it is there. */
async function heardOf(name) {
  for (let turn = 0; turn < 300; turn += 1) {
    const index = asked.findIndex((each) => each.name === name);
    if (index >= 0) return asked.splice(index, 1)[0];
    await new Promise((resolve) => setTimeout(resolve));
  }
  throw new Error(`nobody asks ${name}; asked: ${asked.map((each) => each.name)}`);
}

/** The data of a board whose requests the test answers, in the order that it wants. */
function opened() {
  const server = `/server-${(servers += 1)}`;
  const store = new Store(boardReducer, emptyBoard());
  const data = new BoardData({ board: `${server}/board/`, tasks: `${server}/tasks/` }, store);
  const answer = async (name, body, status = 200) => {
    const request = await heardOf(name.replace(" ", ` ${server}`));
    request.resolve(new Response(JSON.stringify(body), { status }));
  };
  const titleOf = (number) => find(store.state, number)?.card.title ?? "none";
  return { server, data, store, answer, titleOf };
}

async function loaded(...cards) {
  const page = opened();
  const load = page.data.load(new Map());
  await page.answer("GET /board/", board(...cards));
  await load;
  return page;
}

test("board that is loaded with an older answer asks again for the task that was answered meanwhile", async () => {
  const { data, answer, titleOf } = await loaded(task(1, "old"));
  const load = data.load(new Map());
  const refresh = data.refresh(1);
  await answer("GET /tasks/1/", task(1, "new"));
  await refresh;
  await answer("GET /board/", board(task(1, "old")));
  await answer("GET /tasks/1/", task(1, "new"));
  await load;
  same(titleOf(1), "new");
});

test("task that is deleted while the board is loaded does not come back", async () => {
  const { data, answer, titleOf } = await loaded(task(1, "one"), task(2, "two"));
  const load = data.load(new Map());
  const refresh = data.refresh(2);
  await answer("GET /tasks/2/", { code: "not_found", detail: "It is gone." }, 404);
  await refresh;
  await answer("GET /board/", board(task(1, "one"), task(2, "two")));
  await answer("GET /tasks/2/", { code: "not_found", detail: "It is gone." }, 404);
  await load;
  same(titleOf(2), "none");
});

test("answer about a task that was asked before a load is asked again after it", async () => {
  const { data, answer, titleOf } = await loaded(task(1, "old"));
  const refresh = data.refresh(1);
  const load = data.load(new Map());
  await answer("GET /board/", board(task(1, "new")));
  await load;
  await answer("GET /tasks/1/", task(1, "old"));
  await answer("GET /tasks/1/", task(1, "new"));
  await refresh;
  same(titleOf(1), "new");
});

test("answer to a move that is older than what the board shows is followed by a look", async () => {
  const { data, answer, titleOf } = await loaded(task(1, "old"));
  const move = data.move(1, "todo", {});
  const load = data.load(new Map());
  await answer("GET /board/", board(task(1, "renamed by another person")));
  await load;
  await answer("PATCH /tasks/1/", task(1, "old"));
  await answer("GET /tasks/1/", task(1, "renamed by another person"));
  await move;
  same(titleOf(1), "renamed by another person");
});

test("more cards of a column that was loaded again meanwhile are left out", async () => {
  const page = opened();
  const load = page.data.load(new Map());
  await page.answer("GET /board/", { columns: [{ status: TODO, count: 2, tasks: [task(1, "one")], next: `${page.server}/tasks/?cursor=a` }] });
  await load;
  const more = page.data.more(page.store.state.columns[0]);
  const filtered = page.data.load(new Map([["label", "bug"]]));
  await page.answer("GET /board/", board(task(1, "one")));
  await filtered;
  await page.answer("GET /tasks/", { results: [task(2, "of no label")], next: null });
  await more;
  same(page.titleOf(2), "none");
});
