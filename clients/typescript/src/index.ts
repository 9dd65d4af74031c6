/** A client of kmapp. Paths, bodies and responses have the types of the OpenAPI schema. */

import createFetchClient, { type Client, type Middleware } from "openapi-fetch";

import type { components, paths } from "./schema.js";

export type { components, paths };
export type Issue = { path: string; message: string };

export interface Options {
  /** Attempts in all, by default four: the first, and three after a failed connection, the status
   * 429, 502, 503 or 504, or while the first request with the same key is handled. */
  attempts?: number;
  /** Used in place of the global `fetch`. */
  fetch?: typeof fetch;
}

/** An error response. `code` is stable, `issues` name the fields of the request. */
export class KmappError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly issues: Issue[],
    readonly requestId: string | null,
    /** Seconds after which the server expects another attempt, or 0. */
    readonly retryAfter: number = 0,
    /** Facts that belong to the code, such as the present `version` of `stale_version`. */
    readonly details: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = "KmappError";
  }
}

const RETRIED = new Set([429, 502, 503, 504]);
const IN_FLIGHT = "idempotency_in_flight";
const LONGEST_WAIT = 60; // seconds; a response that asks for more is an error at once
const IDEMPOTENCY_KEY = "Idempotency-Key";

/** Create a client. Every call throws KmappError for an error response. An API key that no header
 * can contain is a TypeError at once. */
export function createClient(baseUrl: string, apiKey: string, options: Options = {}): Client<paths> {
  const { attempts = 4, fetch: send = fetch } = options;
  const key = apiKey.trim(); // a key that was read from a file ends with a line break
  if (!/^[!-~]+$/.test(key)) {
    throw new TypeError("apiKey must be a key of kmapp, not the placeholder of an example.");
  }
  const client = createFetchClient<paths>({
    baseUrl: baseUrl.replace(/\/$/, ""),
    headers: { Authorization: `Bearer ${key}` },
    fetch: (request) => fetchWithRetries(send, request, attempts),
  });
  client.use(makeRetriesSafe, throwErrors);
  return client;
}

/** Give each POST a key, with which the server recognises a repetition. */
const makeRetriesSafe: Middleware = {
  onRequest({ request }) {
    if (request.method === "POST" && !request.headers.has(IDEMPOTENCY_KEY)) {
      request.headers.set(IDEMPOTENCY_KEY, crypto.randomUUID());
    }
    return request;
  },
};

const throwErrors: Middleware = {
  async onResponse({ response }) {
    if (response.ok) return;
    const text = await response.text();
    let body: Record<string, unknown> = {};
    try {
      body = JSON.parse(text) ?? {};
    } catch {
      body = { message: text.slice(0, 500) };
    }
    throw new KmappError(
      response.status,
      String(body.error ?? "error"),
      String(body.message ?? response.statusText),
      (body.issues as Issue[] | undefined) ?? [],
      response.headers.get("X-Request-Id"),
      retryAfter(response),
      (body.details as Record<string, unknown> | undefined) ?? {},
    );
  },
};

async function fetchWithRetries(
  send: typeof fetch,
  request: Request,
  attempts: number,
): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const isLast = attempt >= attempts;
    try {
      const response = await send(request.clone());
      const wait = retryAfter(response);
      if (isLast || wait > LONGEST_WAIT || !(await isRetried(response))) return response;
      await pause(wait || delay(attempt), request.signal);
    } catch (error) {
      if (isLast || request.signal.aborted) throw error;
      await pause(delay(attempt), request.signal);
    }
  }
}

/** Return whether a repetition may succeed: the server is busy, or still handles the first request. */
async function isRetried(response: Response): Promise<boolean> {
  if (response.status !== 409) return RETRIED.has(response.status);
  return (await response.clone().text()).includes(IN_FLIGHT);
}

/** Return the seconds of a Retry-After, which may be a date, or 0. */
function retryAfter(response: Response): number {
  const value = response.headers.get("Retry-After") ?? "";
  const seconds = Number(value);
  const wait = Number.isNaN(seconds) ? (Date.parse(value) - Date.now()) / 1000 : seconds;
  return Math.max(wait || 0, 0);
}

/** Return a random number of seconds, up to twice as many after each attempt. */
function delay(attempt: number): number {
  return Math.random() * Math.min(10, 0.2 * 2 ** (attempt - 1));
}

/** Wait, but not after the caller has aborted the request: the next attempt fails at once. */
function pause(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, signal.aborted ? 0 : seconds * 1000);
    signal.addEventListener("abort", end);
  });
}
