// The filters of the board and the list, kept in the address so that a link shows the same tasks.

export const FILTERS = ["assignee", "label", "sprint", "type", "priority", "search"];

/** The filters of an address: a Map of those that are set. */
export function readFilters(search) {
  const query = new URLSearchParams(search);
  return new Map(FILTERS.filter((name) => query.get(name)).map((name) => [name, query.get(name)]));
}

/** The query of the filters and the view, for an address; "" without any. */
export function writeFilters(filters, view = "board") {
  const query = new URLSearchParams([...filters]);
  if (view !== "board") query.set("view", view);
  const text = query.toString();
  return text ? `?${text}` : "";
}

/** Whether a task fits the filters as the server applies them; text search is left to the server. */
export function fits(task, filters) {
  return [...filters].every(([name, value]) => CHECKS.get(name)?.(task, value) ?? true);
}

const CHECKS = new Map(Object.entries({
  assignee: (task, value) => (value === "none" ? !task.assignees.length : task.assignees.some(({ id }) => id === value)),
  label: (task, value) => task.labels.includes(value),
  sprint: (task, value) => (value === "none" ? !task.sprint : task.sprint?.id === value),
  type: (task, value) => task.type.id === value,
  priority: (task, value) => task.priority === value,
}));

/** The filters as a person reads them: [{name, text}]; `page` has the members, sprints and types. */
export function filtersInWords(filters, page) {
  return [...filters].map(([name, value]) => ({ name, text: WORDS.get(name)(value, page) }));
}

function named(list, value, otherwise) {
  return list.find(({ id }) => id === value)?.name ?? otherwise;
}

const WORDS = new Map(Object.entries({
  assignee: (value, { members }) => (value === "none" ? "No assignee" : named(members, value, "A former member")),
  label: (value) => value,
  sprint: (value, { sprints }) => (value === "none" ? "No sprint" : named(sprints, value, "A deleted sprint")),
  type: (value, { types }) => named(types, value, "A deleted type"),
  priority: (value) => `${value[0].toUpperCase()}${value.slice(1)} priority`,
  search: (value) => `“${value}”`,
}));
