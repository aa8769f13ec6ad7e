import { check, randomly, same, test } from "./harness.js";
import { boardReducer, emptyBoard, find, placeOf } from "../../../paca/web/static/paca/board/board-state.js";
import { filtersInWords, fits, readFilters, writeFilters } from "../../../paca/web/static/paca/board/filters.js";
import { stepOf } from "../../../paca/web/static/paca/board/drag.js";

const TODO = { id: "todo", name: "To do", category: "todo" };
const DONE = { id: "done", name: "Done", category: "done" };

function task(number, status = TODO, more = {}) {
  return { number, key: `P-${number}`, title: `Task ${number}`, status, position: number, assignees: [], labels: [], type: { id: "bug" }, priority: "none", sprint: null, ...more };
}

function board(...numbers) {
  const columns = [{ status: TODO, count: numbers.length, tasks: numbers.map((number) => task(number)) }, { status: DONE, count: 0, tasks: [] }];
  return boardReducer(emptyBoard(), { act: "loaded", columns });
}

const shown = (state) => state.columns.map(({ cards, count }) => [count, ...cards.map(({ number }) => number)]);

test("a move is shown at once, and taken back to its place if the server refuses it", () => {
  const before = board(1, 2, 3);
  const moved = boardReducer(before, { act: "move", number: 2, status: "done", index: 0 });
  same(shown(moved), [[2, 1, 3], [1, 2]]);
  same(find(moved, 2).card.status, DONE);
  const again = boardReducer(moved, { act: "move", number: 2, status: "todo", index: 2 });
  same(shown(again), [[3, 1, 3, 2], [0]]);
  same(shown(boardReducer(again, { act: "refused", number: 2 })), shown(before));
});

test("a change that comes while a card is moved waits for the answer to the move", () => {
  const moved = boardReducer(board(1, 2), { act: "move", number: 1, status: "done", index: 0 });
  same(shown(boardReducer(moved, { act: "changed", task: task(1), shown: true })), shown(moved));
  const kept = boardReducer(moved, { act: "kept", number: 1 });
  same(shown(boardReducer(kept, { act: "changed", task: task(1, DONE), shown: true })), [[1, 2], [1, 1]]);
});

test("a changed task goes where its status and position put it, and leaves if it fits the filters no more", () => {
  const state = board(1, 2, 3);
  same(shown(boardReducer(state, { act: "changed", task: task(3, TODO, { position: 0.5 }), shown: true })), [[3, 3, 1, 2], [0]]);
  same(shown(boardReducer(state, { act: "changed", task: task(2, DONE), shown: true })), [[2, 1, 3], [1, 2]]);
  same(shown(boardReducer(state, { act: "changed", task: task(2), shown: false })), [[2, 1, 3], [0]]);
  same(shown(boardReducer(state, { act: "removed", number: 2 })), [[2, 1, 3], [0]]);
});

test("a new task below the cards that are loaded is counted and not shown yet", () => {
  const columns = [{ status: TODO, count: 90, tasks: [task(1), task(2)], next: "/more" }, { status: DONE, count: 0, tasks: [] }];
  const state = boardReducer(emptyBoard(), { act: "loaded", columns });
  same(shown(boardReducer(state, { act: "changed", task: task(500), shown: true }))[0], [91, 1, 2]);
});

test("what an agent does is shown on its card, and of another conversation nothing", () => {
  const at = (conversation, activity) => ({ conversation, agent: { name: "Rosa" }, status: "running", activity });
  const columns = [{ status: TODO, count: 1, tasks: [task(1, TODO, { id: "t1", agent_state: at("c1", "thinking") })] }];
  const state = boardReducer(emptyBoard(), { act: "loaded", columns });
  const news = (conversation) => boardReducer(state, { act: "agentState", task: "t1", conversation, status: "waiting", activity: "" });
  same(find(news("c1"), 1).card.agent_state, { ...at("c1", ""), status: "waiting" });
  check(news("c2") === state);
});

test("the server is told which card a moved one is below or above", () => {
  const moved = boardReducer(board(1, 2, 3), { act: "move", number: 1, status: "todo", index: 1 });
  same(placeOf(moved, 1), { after: 2 });
  same(placeOf(boardReducer(moved, { act: "move", number: 3, status: "todo", index: 0 }), 3), { before: 2 });
  same(placeOf(board(1), 1), {});
});

test("a card stays where a person has put it when the board is loaded before the move is stored", () => {
  const moved = boardReducer(board(1, 2), { act: "move", number: 1, status: "done", index: 0 });
  const columns = board(1, 2, 3).columns.map(({ status, count, cards }) => ({ status, count, tasks: cards }));
  const loaded = boardReducer(moved, { act: "loaded", columns });
  same(find(loaded, 1).column.status.id, "done");
  same(find(loaded, 3).column.status.id, "todo");
  const refused = boardReducer(loaded, { act: "refused", number: 1 });
  same(find(refused, 1).column.status.id, "todo");
});

test("whatever moves are refused in whatever order, no card is lost or doubled", () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const random = randomly(seed);
    let state = board(1, 2, 3, 4, 5);
    for (let step = 0; step < 40; step += 1) {
      const number = 1 + Math.floor(random() * 5);
      const act = ["move", "refused", "kept", "changed"][Math.floor(random() * 4)];
      const status = random() < 0.5 ? TODO : DONE;
      state = boardReducer(state, { act, number, status: status.id, index: Math.floor(random() * 6), task: task(number, status), shown: true });
      const numbers = state.columns.flatMap(({ cards }) => cards.map((card) => card.number)).sort();
      same(numbers, [1, 2, 3, 4, 5], `seed ${seed}, step ${step}, ${act} ${number}`);
      for (const column of state.columns) check(column.count === column.cards.length, `count, seed ${seed}`);
    }
  }
});

test("arrows move a lifted card by one place, and stop at the edges", () => {
  const state = board(1, 2);
  const step = (key, number) => stepOf(key, state.columns, find(state, number));
  same(step("ArrowDown", 1), { status: "todo", index: 1 });
  same(step("ArrowUp", 1), null);
  same(step("ArrowDown", 2), null);
  same(step("ArrowRight", 2), { status: "done", index: 0 });
  same(step("ArrowLeft", 1), null);
});

test("filters live in the address and are read back", () => {
  const filters = readFilters("?assignee=m1&label=a%26b&nonsense=1&view=list");
  same([...filters], [["assignee", "m1"], ["label", "a&b"]]);
  same([...readFilters(writeFilters(filters, "list"))], [...filters]);
  same(writeFilters(new Map()), "");
});

test("a task that changes is kept or left out as the server would", () => {
  const one = task(1, TODO, { assignees: [{ id: "m1" }], labels: ["bug"], sprint: { id: "s1" }, priority: "high" });
  for (const [name, value, wanted] of [
    ["assignee", "m1", true], ["assignee", "m2", false], ["assignee", "none", false], ["label", "bug", true], ["label", "b", false],
    ["sprint", "s1", true], ["sprint", "none", false], ["priority", "high", true], ["priority", "low", false], ["type", "bug", true],
  ]) check(fits(one, new Map([[name, value]])) === wanted, `${name}=${value}`);
});

test("filters are named in words, also those of members and sprints that are gone", () => {
  const page = { members: [{ id: "m1", name: "Ada" }], sprints: [], types: [] };
  const words = (name, value) => filtersInWords(new Map([[name, value]]), page)[0].text;
  same([words("assignee", "m1"), words("assignee", "gone"), words("sprint", "gone"), words("priority", "high")],
    ["Ada", "A former member", "A deleted sprint", "High priority"]);
});
