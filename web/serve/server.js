// The server that this page came from.

const kKeyName = "cairn-api-key";

class ServerError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

class Server {
  constructor() {
    this.key = sessionStorage.getItem(kKeyName) || "";
  }

  useKey(key) {
    this.key = key;
    sessionStorage.setItem(kKeyName, key);
  }

  async ask(path, options = {}) {
    const headers = { ...options.headers };
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    let answer;
    try {
      answer = await fetch(path, { ...options, headers });
    } catch (problem) {
      if (problem.name === "AbortError") throw problem;
      throw new ServerError("The server can't be reached.", 0);
    }
    if (answer.ok) return answer;
    let message = `The server answered with status ${answer.status}.`;
    try {
      message = (await answer.json()).error.message;
    } catch { /* not the server's own words */ }
    throw new ServerError(message, answer.status);
  }

  async get(path) {
    return (await this.ask(path)).json();
  }

  // The chunks of an answer, one after the other.
  async *chat(request, signal) {
    const answer = await this.ask("/v1/chat/completions", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...request, stream: true, stream_options: { include_usage: true } }),
      signal,
    });
    for await (const data of eventsOf(answer.body)) {
      if (data === "[DONE]") return;
      const chunk = JSON.parse(data);
      if (chunk.error) throw new ServerError(chunk.error.message, 0);
      yield chunk;
    }
    throw new ServerError("The answer broke off.", 0);
  }
}

// The data of server-sent events; ours are of one line each.
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.startsWith("data: ")) yield line.slice(6);
  }
}
