// A unified diff as rows with line numbers on both sides.

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/;

/** Rows of the first diff in the text, or null: {kind: hunk|same|add|del, line, text}. */
export function parseDiff(text) {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => HUNK.test(line));
  if (start < 0) return null;
  const rows = [];
  let [left, right] = [0, 0];
  for (const line of lines.slice(start)) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      [left, right] = [Number(hunk[1]), Number(hunk[2])];
      rows.push({ kind: "hunk", line: "", text: line });
    } else if (line.startsWith("+")) {
      rows.push({ kind: "add", line: right++, text: line.slice(1) });
    } else if (line.startsWith("-")) {
      rows.push({ kind: "del", line: left++, text: line.slice(1) });
    } else if (line.startsWith(" ") || line === "") {
      rows.push({ kind: "same", line: right++, text: line.slice(1) });
      left += 1;
    } else {
      rows.push({ kind: "hunk", line: "", text: line });
    }
  }
  return rows;
}

export function countChanges(rows) {
  return {
    added: rows.filter((row) => row.kind === "add").length,
    removed: rows.filter((row) => row.kind === "del").length,
  };
}
