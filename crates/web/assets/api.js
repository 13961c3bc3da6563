// Requests to the server. The link has a code behind the #, which browsers do not send; it is exchanged once for the token. A program may
// pass the token itself (#token=…). The token is kept for this tab and sent as a header, which no other page can do.

const KEY = "marvin-token";

/** Takes the token, or the code for it, out of the address, which then names a page. */
export async function takeToken(page = "#/chat") {
  const match = /^[#?](token|code)=([A-Za-z0-9_-]+)/.exec(location.hash || location.search);
  if (match) {
    history.replaceState(null, "", location.pathname + page);
    const token = match[1] === "token" ? match[2] : (await post("/api/session", { code: match[2] })).token;
    sessionStorage.setItem(KEY, token);
  }
  return Boolean(sessionStorage.getItem(KEY));
}

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { ...options, headers: { ...options.headers, Authorization: `Bearer ${sessionStorage.getItem(KEY)}` }, credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "Marvin does not answer. Is its server still running?");
  }
  if (response.ok) return response;
  let message = `the server answered ${response.status}`;
  try { message = (await response.json()).error || message; } catch { /* the status says enough */ }
  throw new Refused(response.status, message);
}

/** Gets a value. */
export async function get(path, query) {
  const words = query ? `?${new URLSearchParams(query)}` : "";
  return (await ask(path + words, { method: "GET" })).json();
}

/** Sends a value, gets one. */
export async function post(path, value) {
  return (await ask(path, { method: "POST", body: JSON.stringify(value), headers: { "Content-Type": "application/json" } })).json();
}

/**
 * Hears what happens after an event, until `signal` ends it: when the connection breaks, it continues where it was.
 * `hear` receives each event; `state` receives whether there is a connection.
 */
export async function listen(after, hear, state, path = "/api/events", signal = undefined) {
  let last = after, wait = 500;
  while (!signal?.aborted) {
    try {
      const response = await ask(`${path}?after=${last}`, { method: "GET", headers: { Accept: "text/event-stream" }, signal });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      state(true);
      wait = 500;
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const parts = (rest + value).split("\n\n");
        rest = parts.pop();
        for (const part of parts) {
          const line = part.split("\n").find((one) => one.startsWith("data: "));
          if (!line) continue;
          const event = JSON.parse(line.slice(6));
          // The server was restarted: its numbers begin again.
          if (event.kind !== "gap" && event.seq <= last) continue;
          last = event.seq;
          hear(event);
        }
      }
    } catch (error) {
      if (error instanceof Refused && error.status === 401) { state(false, error.message); return; }
    }
    state(false);
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, 8000);
  }
}
