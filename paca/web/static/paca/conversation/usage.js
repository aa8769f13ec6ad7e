// Tokens and cost of model calls, added up. Calls with an unknown price are counted, never taken as free.

const TOKENS = ["input", "output", "cache_read", "cache_write"];

export function emptyUsage() {
  return { calls: 0, input: 0, output: 0, cache_read: 0, cache_write: 0, cost: 0, unpriced: 0 };
}

/** The usage of a server's object (of a conversation or a finished turn), or null if it has none. */
export function usageFrom(known) {
  if (!known) return null;
  const { unpriced_calls: unpriced = 0, priced_cost_usd: cost = known.cost_usd ?? 0, calls } = known;
  const counts = Object.fromEntries(TOKENS.map((field) => [field, known[field] ?? 0]));
  return { ...counts, calls: calls ?? (tokens(counts) || unpriced ? 1 : 0), cost, unpriced };
}

export function addUsage(total, call) {
  const sum = { ...total, calls: total.calls + 1 };
  for (const field of TOKENS) sum[field] += call[field] ?? 0;
  if (call.cost_usd == null) sum.unpriced += 1;
  else sum.cost += call.cost_usd;
  return sum;
}

export function tokens(usage) {
  return TOKENS.reduce((sum, field) => sum + usage[field], 0);
}

/** "12,400 tokens", "tokens unknown": a server that does not count has not used none. */
export function tokensInWords(usage) {
  if (!tokens(usage)) return usage.unpriced ? "tokens unknown" : "";
  return `${tokens(usage).toLocaleString("en")} tokens`;
}

/** "$0.38", "under $0.01", "Not priced": an unknown price is never shown as 0. */
export function costInWords(usage) {
  if (!usage.calls) return "";
  if (usage.unpriced) return usage.cost ? `${money(usage.cost)} and unpriced calls` : "Not priced";
  return money(usage.cost);
}

function money(amount) {
  if (amount > 0 && amount < 0.01) return "under $0.01";
  return `$${amount.toFixed(2)}`;
}
