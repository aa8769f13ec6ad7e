// The docs of a project as a tree of folders. Pure: it knows no DOM, no clock and no network.

/**
 * The rows of the tree in the order they are shown: {kind: "folder"|"doc", item, depth, open}. `opened` is the
 * set of the ids of open folders. A folder or doc whose folder is not there is shown at the top.
 */
export function treeRows(folders, docs, opened) {
  const known = new Set(folders.map(({ id }) => id));
  const parentOf = (item, field) => (known.has(item[field]) ? item[field] : null);
  const below = (parent) => ({
    folders: folders.filter((each) => parentOf(each, "parent") === parent).sort(byPlace("name")),
    docs: docs.filter((each) => parentOf(each, "folder") === parent).sort(byPlace("title")),
  });
  const rows = [];
  const add = (parent, depth) => {
    const inner = below(parent);
    for (const folder of inner.folders) {
      const open = opened.has(folder.id);
      rows.push({ kind: "folder", item: folder, depth, open });
      if (open) add(folder.id, depth + 1);
    }
    for (const doc of inner.docs) rows.push({ kind: "doc", item: doc, depth });
  };
  add(null, 0);
  return rows;
}

function byPlace(name) {
  return (one, other) => one.position - other.position || one[name].localeCompare(other[name]);
}

/** The ids of the folders that a doc is in, from the top down. */
export function pathOf(folders, doc) {
  const byId = new Map(folders.map((folder) => [folder.id, folder]));
  const path = [];
  for (let folder = byId.get(doc?.folder); folder && !path.includes(folder.id); folder = byId.get(folder.parent)) path.unshift(folder.id);
  return path;
}
