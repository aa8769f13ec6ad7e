// The tree of a workspace as data: folders are loaded when they are opened, page by page, and become one list of rows.

export const ROOT = ".";
export const PAGE = 1000; // entries that are loaded at once
const UNKNOWN = "\0"; // in the place of a name: no file has it

export function join(folder, name) {
  return folder === ROOT ? name : `${folder}/${name}`;
}

export function parentOf(path) {
  const at = path.lastIndexOf("/");
  return at < 0 ? ROOT : path.slice(0, at);
}

export class Tree {
  #folders = new Map(); // path -> {entries, total, modified, cut}, where entries has holes, or {error}
  #open = new Set([ROOT]);
  #rows = null;

  /**
   * The rows to show: {path, name, kind, size, folder, index, level, open, of}, one whose entry is not loaded:
   * {missing: true, path, folder, index, level, of}, or a note in a folder: {note, level}.
   */
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
    if (!folder.total && path !== ROOT) return this.#note("Empty", path, level);
    for (let index = 0; index < folder.total; index += 1) {
      const place = { folder: path, index, level, of: folder.total };
      const entry = folder.entries[index];
      if (!entry) {
        this.#rows.push({ ...place, missing: true, path: join(path, `${UNKNOWN}${index}`) });
        continue;
      }
      const row = { ...entry, ...place, path: join(path, entry.name) };
      row.open = row.kind === "folder" && this.#open.has(row.path);
      this.#rows.push(row);
      if (row.open) this.#add(row.path, level + 1);
    }
    if (folder.cut) this.#note(`There are more than ${folder.total.toLocaleString("en")}; the others are not shown.`, path, level);
    return undefined;
  }

  #note(note, path, level) {
    this.#rows.push({ note, path: `${path}/`, folder: path, level });
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

  /** Whether entries of this part of a folder were not loaded yet. */
  isMissing(path, from, count) {
    const { entries, total } = this.#folders.get(path) ?? {};
    if (!entries) return false;
    for (let index = from; index < Math.min(total, from + count); index += 1) if (!entries[index]) return true;
    return false;
  }

  /** Show pages of a folder, as [offset, answer] of the API, in place of all that was known of it. */
  replace(path, pages) {
    this.#folders.delete(path);
    for (const [offset, answer] of pages) this.put(path, offset, answer);
  }

  /** Add a page of a folder. What was loaded before is forgotten if the folder has changed since. */
  put(path, offset, { entries, total, modified, cut }) {
    const known = this.#folders.get(path);
    const fits = known?.entries && known.modified === modified && known.total === total;
    const folder = fits ? known : { entries: new Array(total), total, modified, cut };
    entries.forEach((entry, index) => (folder.entries[offset + index] = entry));
    this.#folders.set(path, folder);
    this.#rows = null;
  }

  /** Store why the content of a folder is not known. */
  fail(path, error) {
    this.#folders.set(path, { error });
    this.#rows = null;
  }

  toggle(path, open) {
    if (open) this.#open.add(path);
    else this.#open.delete(path);
    this.#rows = null;
  }

  /** The path of a row that was missing when it was chosen, if it is known now. */
  resolved(path) {
    const at = path.indexOf(UNKNOWN);
    if (at < 0) return path;
    const folder = parentOf(path);
    const entry = this.#folders.get(folder)?.entries?.[Number(path.slice(at + 1))];
    return entry ? join(folder, entry.name) : path;
  }
}
