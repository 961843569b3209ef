// The chat: a conversation, its settings, and the answer that is on its way.

const kMissReasons = {
  new: "nothing that begins so was seen lately",
  diverged: "what was seen goes on otherwise",
  no_point: "nothing to resume from at this length",
  evicted: "it was there and had to go",
  not_loaded: "computing was expected to be faster than loading, or loading failed",
};

// What an answer says of its state and speed.
function usageText(usage, timings) {
  const details = usage.prompt_tokens_details || {};
  const tiers = Object.entries(details.cached_tokens_by_tier || {}).filter(([, tokens]) => tokens > 0);
  const from = tiers.map(([tier, tokens]) => `${grouped(tokens)} from ${tier}`);
  const parts = [
    `${grouped(usage.prompt_tokens)} tokens read, ${grouped(details.cached_tokens || 0)} of them at hand` +
      (from.length ? ` (${from.join(", ")})` : ""),
  ];
  if (kMissReasons[details.miss_reason]) parts.push(`not more: ${kMissReasons[details.miss_reason]}`);
  parts.push(`${grouped(usage.completion_tokens)} tokens written`);
  if (timings && timings.predicted_per_second > 0) {
    parts.push(`${timings.predicted_per_second.toFixed(1)} tokens/s`);
  }
  return parts.join("; ");
}

// Who reads the end of the page goes on reading its end.
function following(change) {
  const page = document.documentElement;
  const at_end = scrollY + innerHeight >= page.scrollHeight - 40;
  change();
  if (at_end) scrollTo(0, page.scrollHeight);
}

class Chat {
  // `failed` gets errors of the server.
  constructor(server, failed) {
    this.server = server;
    this.failed = failed;
    this.messages = [];
    this.running = null;  // an AbortController
    element("chat-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    element("message").addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.send();
    });
    element("stop").addEventListener("click", () => this.stop());
    element("again").addEventListener("click", () => this.again());
    element("new-chat").addEventListener("click", () => this.clear());
    this.enable();
  }

  send() {
    const words = element("message").value;
    if (this.running || words.trim() === "") return;
    element("message").value = "";
    this.messages.push({ role: "user", content: words });
    following(() => element("talk").append(this.turn("user", "You", words)));
    this.answer();
  }

  // Drops the last answer, or what of it came, and asks once more.
  again() {
    if (this.running) return;
    if (this.messages.at(-1)?.role === "assistant") this.messages.pop();
    const last = element("talk").lastElementChild;
    if (last?.classList.contains("assistant")) last.remove();
    if (this.messages.length > 0) this.answer();
  }

  stop() {
    this.running?.abort();
  }

  clear() {
    this.stop();
    this.messages = [];
    element("talk").replaceChildren();
    this.enable();
    element("message").focus();
  }

  request() {
    const system = element("system").value;
    const first = system.trim() === "" ? [] : [{ role: "system", content: system }];
    const request = { messages: [...first, ...this.messages] };
    if (element("temperature").value !== "") request.temperature = Number(element("temperature").value);
    if (element("max-tokens").value !== "") request.max_completion_tokens = Number(element("max-tokens").value);
    return request;
  }

  turn(role, who, words) {
    return html("article", { class: `turn ${role}` }, html("h3", {}, who), html("p", { class: "words" }, words));
  }

  async answer() {
    const messages = this.messages;  // another list after a new chat
    const running = new AbortController();
    const turn = this.turn("assistant", "Model", "");
    const words = turn.querySelector(".words");
    this.running = running;
    following(() => element("talk").append(turn));
    element("talk").setAttribute("aria-busy", "true");  // to be read out when it is complete
    this.enable();
    try {
      for await (const chunk of this.server.chat(this.request(), running.signal)) {
        following(() => words.append(chunk.choices[0]?.delta?.content || ""));
        if (chunk.usage) {
          const usage = usageText(chunk.usage, chunk.timings);
          following(() => turn.append(html("p", { class: "usage muted" }, usage)));
        }
      }
    } catch (problem) {
      const text = problem.name === "AbortError" ? "Stopped." : problem.message;
      turn.append(html("p", { class: problem.name === "AbortError" ? "muted" : "failed" }, text));
      if (problem.name !== "AbortError") this.failed(problem);
    }
    if (words.textContent !== "") messages.push({ role: "assistant", content: words.textContent });
    if (this.running !== running) return;  // a new chat has begun another
    this.running = null;
    element("talk").setAttribute("aria-busy", "false");
    this.enable();
  }

  enable() {
    element("send").disabled = this.running !== null;
    element("stop").disabled = this.running === null;
    element("again").disabled = this.running !== null || this.messages.length === 0;
  }
}
