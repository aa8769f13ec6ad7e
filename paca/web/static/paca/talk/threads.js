// Comments as threads. Pure: it knows no DOM, no clock and no network.

/** Comments with their answers: [{comment, answers}]; an answer to an answer is in the same thread. */
export function threadsOf(comments) {
  const byId = new Map(comments.map((comment) => [comment.id, comment]));
  const rootOf = (comment) => {
    let root = comment;
    while (root.parent && byId.has(root.parent)) root = byId.get(root.parent);
    return root;
  };
  const threads = new Map();
  for (const comment of comments) {
    const root = rootOf(comment);
    if (!threads.has(root.id)) threads.set(root.id, { comment: root, answers: [] });
    if (root !== comment) threads.get(root.id).answers.push(comment);
  }
  return [...threads.values()];
}
