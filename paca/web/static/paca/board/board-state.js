// The state of the board: columns of cards. A pure reducer; it knows no DOM, no clock and no network.
//
// State: {columns: [{status, count, cards: [task], next}], moves: Map(number -> {from, index, rank})}.
// A move is shown at once and taken back if the server refuses it.

export function emptyBoard() {
  return { columns: [], moves: new Map(), loaded: false };
}

export function boardReducer(state, action) {
  const change = REDUCERS.get(action.act);
  return change ? change(state, action) : state;
}

const REDUCERS = new Map(Object.entries({
  loaded: (state, { columns }) => movedAgain({ ...state, loaded: true, moves: new Map(), columns: columns.map(columnOf) }, state),
  more: (state, { status, cards, next }) => withColumn(state, status, (column) => ({
    ...column, next, cards: [...column.cards, ...cards.filter(({ number }) => !column.cards.some((card) => card.number === number))],
  })),
  changed: (state, { task, shown }) => placed(state, task, shown),
  removed: (state, { number }) => taken(state, number).state,
  agentState: (state, { task, conversation, status, activity }) => withAgentState(state, task, { conversation, status, activity }),
  move: (state, { number, status, index }) => moved(state, number, status, index),
  kept: (state, { number }) => ({ ...state, moves: without(state.moves, number) }),
  refused: (state, { number }) => takenBack(state, number),
}));

function columnOf({ status, count, tasks, next = null }) {
  return { status, count, cards: tasks, next };
}

/** Where a card is: {column, index}, or null. */
export function find(state, number) {
  for (const column of state.columns) {
    const index = column.cards.findIndex((card) => card.number === number);
    if (index >= 0) return { column, index, card: column.cards[index] };
  }
  return null;
}

/** The card of a task by its id, or null. */
export function cardOf(state, id) {
  return state.columns.flatMap(({ cards }) => cards).find((card) => card.id === id) ?? null;
}

function withAgentState(state, id, news) {
  const card = cardOf(state, id);
  if (card?.agent_state?.conversation !== news.conversation) return state;
  const changed = { ...card, agent_state: { ...card.agent_state, ...news } };
  return {
    ...state,
    columns: state.columns.map((column) => (column.cards.includes(card) ? { ...column, cards: column.cards.map((each) => (each === card ? changed : each)) } : column)),
  };
}

/** The place of a card for the server: below or above another card, because an index is not stable. */
export function placeOf(state, number) {
  const { column, index } = find(state, number);
  const [above, below] = [column.cards[index - 1], column.cards[index + 1]];
  if (above) return { after: above.number };
  return below ? { before: below.number } : {};
}

function withColumn(state, statusId, change) {
  return { ...state, columns: state.columns.map((column) => (column.status.id === statusId ? change(column) : column)) };
}

function taken(state, number) {
  const at = find(state, number);
  if (!at) return { state, at };
  const rest = withColumn(state, at.column.status.id, (column) => ({
    ...column, count: column.count - 1, cards: column.cards.filter((card) => card.number !== number),
  }));
  return { state: rest, at };
}

function inserted(state, statusId, card, index) {
  return withColumn(state, statusId, (column) => ({
    ...column, count: column.count + 1, cards: [...column.cards.slice(0, index), card, ...column.cards.slice(index)],
  }));
}

/** The board after a task has changed on the server; `shown` tells whether it fits the filters. */
function placed(state, task, shown) {
  if (state.moves.has(task.number)) return state; // the answer to the move tells the truth about it
  const { state: rest, at } = taken(state, task.number);
  if (!shown) return rest;
  const column = rest.columns.find(({ status }) => status.id === task.status.id);
  if (!column) return rest;
  const index = column.cards.findIndex((card) => card.position > task.position);
  const place = index < 0 ? column.cards.length : index;
  // A card below those that are loaded counts, and is shown with them later.
  if (index < 0 && column.next && !at) {
    return withColumn(rest, column.status.id, (each) => ({ ...each, count: each.count + 1 }));
  }
  return inserted(rest, column.status.id, task, place);
}

function moved(state, number, statusId, index) {
  const { state: rest, at } = taken(state, number);
  const column = rest.columns.find(({ status }) => status.id === statusId);
  if (!at || !column) return state;
  const origin = state.moves.get(number) ?? { status: at.column.status, index: at.index, card: at.card };
  const place = Math.max(0, Math.min(index, column.cards.length));
  const next = inserted(rest, statusId, { ...at.card, status: column.status }, place);
  return { ...next, moves: new Map(state.moves).set(number, origin) };
}

/** The columns as loaded, with the moves that are not stored yet: a card stays where a person has put it. */
function movedAgain(loaded, before) {
  return [...before.moves.keys()].reduce((state, number) => {
    const at = find(before, number);
    return at ? moved(state, number, at.column.status.id, at.index) : state;
  }, loaded);
}

function takenBack(state, number) {
  const origin = state.moves.get(number);
  if (!origin) return state;
  const { state: rest } = taken(state, number);
  return { ...inserted(rest, origin.status.id, origin.card, origin.index), moves: without(state.moves, number) };
}

function without(map, key) {
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}
