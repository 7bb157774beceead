// Requests to the viewer's own server, with the token that came in the address.

import { kept, keptAnswer } from "/static/kept.js";

const KEY = "lamina-token";

/** Take the token out of the address, which is then clean, into this tab's memory. */
export function takeToken() {
  if (kept) return;
  const found = /^#t=([\w-]+)$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(KEY, found[1]);
    history.replaceState(history.state, "", location.pathname + location.search);
  }
}

/** An answer that is an error: what the server said, and what to do. */
export class AnswerError extends Error {
  constructor(status, document) {
    super(document.error ?? `the viewer answered ${status}`);
    this.status = status;
    this.document = document;
  }
}

const ADVICE = {
  401: "This page has no valid token. Open the address that `lamina view` printed in its terminal.",
  403: "The viewer refused this page: open it by the address that `lamina view` printed.",
  429: "Too many wrong tokens; the viewer rests for a minute.",
  503: "The viewer is busy; try again.",
};

async function request(path, params = {}, signal = undefined) {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(given).toString();
  let answer;
  try {
    answer = await fetch(query ? `${path}?${query}` : path, {
      headers: { Authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}` }, signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new AnswerError(0, { error: "The viewer does not answer. Is `lamina view` still running?" });
  }
  if (answer.ok) return answer;
  const isJson = (answer.headers.get("content-type") ?? "").startsWith("application/json");
  const document = isJson ? await answer.json() : { error: ADVICE[answer.status] };
  throw new AnswerError(answer.status, document);
}

/** The JSON document of a path. */
export const ask = async (path, params, signal) => kept ? keptAnswer(path, params ?? {}) : (await request(path, params, signal)).json();

/** The bytes of a path. */
export const askBytes = async (path, params, signal) => kept ? keptAnswer(path, params ?? {}) : (await request(path, params, signal)).arrayBuffer();

/** The path of a chunk: ids may hold anything. */
export const chunkPath = (id) => `/api/chunk/${encodeURIComponent(id)}`;
