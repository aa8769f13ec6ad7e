// Calls of the API with the session and its CSRF token. Every failure is an ApiError.

export class ApiError extends Error {
  constructor({ status, code, detail, request_id: requestId, fields, present }) {
    super(detail);
    this.status = status;
    this.code = code;
    this.requestId = requestId ?? "";
    this.fields = fields ?? {};
    this.present = present ?? null; // with 412: the object as it is now
  }
}

function csrfToken() {
  return document.querySelector("meta[name=csrf-token]")?.content ?? "";
}

export async function call(method, path, body, { idempotencyKey, ifMatch, keepalive = false } = {}) {
  const headers = { Accept: "application/json" };
  const isRaw = body instanceof FormData || body instanceof Blob;
  if (body instanceof Blob) headers["Content-Type"] = body.type || "application/octet-stream";
  else if (body !== undefined && !isRaw) headers["Content-Type"] = "application/json";
  if (method !== "GET") headers["X-CSRFToken"] = csrfToken();
  if (idempotencyKey) headers["Idempotency-Key"] = idempotencyKey;
  if (ifMatch) headers["If-Match"] = ifMatch;
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined || isRaw ? body : JSON.stringify(body),
      credentials: "same-origin",
      keepalive,
    });
  } catch {
    throw new ApiError({ status: 0, code: "offline", detail: "This server does not answer." });
  }
  if (!response.ok) throw new ApiError({ status: response.status, ...(await problem(response)) });
  return response.status === 204 ? null : response.json();
}

async function problem(response) {
  try {
    const said = await response.json();
    if (said.code && said.detail) return said;
  } catch {
    // Not JSON: a proxy answered instead of Paca. Only the status is known.
  }
  return { code: "unexpected", detail: `The server answered ${response.status} ${response.statusText}`.trim() + "." };
}

/** An id for one action of a person, so that the server recognizes a repeat. */
export function newClientId() {
  // randomUUID exists in secure contexts only, and a server on plain HTTP is none.
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
