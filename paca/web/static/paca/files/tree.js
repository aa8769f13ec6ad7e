// The tree of a workspace as data: folders are loaded when they are opened, and become one list of rows.

export const ROOT = ".";

export function join(folder, name) {
  return folder === ROOT ? name : `${folder}/${name}`;
}

export function parentOf(path) {
  const at = path.lastIndexOf("/");
  return at < 0 ? ROOT : path.slice(0, at);
}

export class Tree {
  #folders = new Map(); // path -> {entries, total, error, loading}
  #open = new Set([ROOT]);
  #rows = null;

  /** The rows to show: {path, name, kind, size, level, open, position, of}, or a note in a folder: {note, level}. */
  get rows() {
    if (this.#rows) return this.#rows;
    this.#rows = [];
    this.#add(ROOT, 1);
    return this.#rows;
  }

  #add(path, level) {
    const folder = this.#folders.get(path);
    if (!folder) return this.#note("Loading…", path, level);
    if (folder.error) return this.#note(folder.error, path, level);
    if (!folder.entries.length && path !== ROOT) return this.#note("Empty", path, level);
    folder.entries.forEach((entry, index) => {
      const row = { ...entry, path: join(path, entry.name), level, position: index + 1, of: folder.entries.length };
      row.open = row.kind === "folder" && this.#open.has(row.path);
      this.#rows.push(row);
      if (row.open) this.#add(row.path, level + 1);
    });
    const left = folder.total - folder.entries.length;
    if (left > 0) this.#note(`${left.toLocaleString("en")} more`, path, level);
    return undefined;
  }

  #note(note, path, level) {
    this.#rows.push({ note, path: `${path}/`, level });
  }

  /** The open folders, whose content the page shows: the outermost first. */
  get shown() {
    return [...this.#open].filter((path) => path === ROOT || this.#open.has(parentOf(path)));
  }

  get root() {
    return this.#folders.get(ROOT);
  }

  isLoaded(path) {
    return this.#folders.has(path);
  }

  /** Store what a folder contains, or why that is not known: {entries, total} or {error}. */
  put(path, content) {
    this.#folders.set(path, content);
    this.#rows = null;
  }

  toggle(path, open) {
    if (open) this.#open.add(path);
    else this.#open.delete(path);
    this.#rows = null;
  }
}
