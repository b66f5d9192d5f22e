// Requests to the server. The session is kept where only pages of this host and port can read it.

const SESSION = "masthead-session";
let session = sessionStorage.getItem(SESSION) ?? "";
let onClosed = () => {};

export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** Exchange the token of the address for a session; return whether there is one. */
export async function open(whenClosed) {
  onClosed = whenClosed;
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    // At once: neither bookmarks nor the history may have it.
    history.replaceState(null, "", "/");
    const response = await fetch("/session", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token }),
    });
    const answer = await response.json();
    if (response.ok) {
      session = answer.session;
      sessionStorage.setItem(SESSION, session);
    } else if (!session) {
      throw new Refused(answer.error, response.status);
    }
  }
  return session !== "";
}

function address(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

async function send(path, parameters, signal) {
  // A session that has ended does not come back: nothing is asked any more.
  if (!session) throw new Refused("this page is closed", 401);
  const response = await fetch(address(path, parameters), {
    headers: { Authorization: `Bearer ${session}` },
    signal,
  });
  if (response.ok) return response;
  let message = response.statusText;
  try {
    message = (await response.json()).error;
  } catch {
    // A proxy has answered: its status is all that is known.
  }
  if (response.status === 401) {
    session = "";
    sessionStorage.removeItem(SESSION);
    onClosed(message);
  }
  throw new Refused(message, response.status);
}

export async function get(path, parameters = {}, signal = undefined) {
  return (await send(path, parameters, signal)).json();
}

/** Read server-sent events until the signal, or the end of the connection. */
export async function stream(path, parameters, onEvent, signal) {
  const response = await send(path, parameters, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const [first, second] = part.split("\n");
      onEvent(first.slice("event: ".length), JSON.parse(second.slice("data: ".length)));
    }
  }
}
