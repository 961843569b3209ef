// The picture of GET /state, read again each second while somebody looks.

const kPollMs = 1000;
const kLeafPixelsMax = 16;
const kTreePixelsMax = 420;
const kStripPixels = 3;
const kFirstTierColour = 3;

function tierColour(index) {
  return `s${(kFirstTierColour + index) % kColours}`;
}

function numbers(place, entries) {
  place.replaceChildren(...entries.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value))));
}

function table(columns, rows) {
  const cells = (kind, row) => row.map((text, i) => html(kind, i ? { class: "number" } : {}, text));
  return html("table", {},
    html("thead", {}, html("tr", {}, ...cells("th", columns))),
    html("tbody", {}, ...rows.map((row) => html("tr", {}, ...cells("td", row)))));
}

function budgetParts({ occupancy, bytes_by_use: use }) {
  const parts = use
    ? [["answers alone", use.running], ["kept and in use", use.in_use], ["kept", use.kept],
       ["snapshots", use.snapshots], ["waiting to be written", use.waiting_to_be_written],
       ["pinned by contexts", use.pinned]]
    : [["live", occupancy.live_bytes]];
  parts.push(["free", occupancy.free_bytes]);
  return parts.map(([label, bytes]) => ({ label, bytes, text: shortBytes(bytes) }));
}

function hitParts(hits) {
  const computed = hits.tokens_asked - hits.tokens_from_memory - hits.tokens_loaded;
  return [...Object.entries(hits.tokens_by_origin).map(([name, tokens]) => [`from ${name}`, tokens]), ["computed", computed]]
    .map(([label, tokens]) => ({ label, bytes: tokens, text: `${grouped(tokens)} tokens` }));
}

function kindEntries(classes) {
  const names = { rows: "Rows of all tokens", window: "Rows of a window of", chunk: "Rows of a chunk of", fixed: "Regions that don't grow" };
  return classes.map(({ kind, tokens, live_bytes: bytes }) =>
    [tokens === null ? names[kind] : `${names[kind]} ${grouped(tokens)}`, shortBytes(bytes)]);
}

// "512 on disk, 96 on store"
function onTiers(node) {
  if (node.on_tiers === null) return "not looked up";
  const parts = Object.entries(node.on_tiers).filter(([, tokens]) => tokens > 0);
  return parts.map(([name, tokens]) => `${grouped(tokens)} on ${name}`).join(", ") || "none";
}

// What of a node is on tiers, too: a strip for each along the node's lower edge, one above the other.
function tierStrips(node, { x, y, width, height }) {
  const tiers = Object.values(node.on_tiers || {});
  const strip = Math.min(kStripPixels, height / (tiers.length + 1));
  return tiers.flatMap((tokens, index) => tokens === 0 ? [] : [svg("rect", {
    class: `strip ${tierColour(index)}`,
    x, y: y + height - strip * (index + 1), width: (width * tokens) / node.tokens, height: strip,
  })]);
}

// Each node with where it lies: from how many tokens on, and which of the leaves are below it.
function placeNodes(shown) {
  const placed = shown.map((node) => ({ ...node, below: [], from: 0, top: 0, leaves: 0 }));
  const roots = [];
  for (const node of placed) {
    const parent = placed[node.parent];
    if (parent) node.from = parent.from + parent.tokens;
    (parent ? parent.below : roots).push(node);
  }
  for (const node of [...placed].reverse()) {
    node.leaves = node.below.reduce((sum, child) => sum + child.leaves, 0) || 1;
  }
  const stack = (nodes, top) => {
    for (const node of nodes) {
      node.top = top;
      top += node.leaves;
    }
    return top;
  };
  const leaves = stack(roots, 0);
  for (const node of placed) stack(node.below, node.top);
  return { placed, leaves };
}

function drawTree(place, tree) {
  const { placed, leaves } = placeNodes(tree.shown);
  if (placed.length === 0) {
    place.replaceChildren(html("p", {}, "Nothing is kept yet."));
    return;
  }
  const width = Math.max(place.clientWidth, 240);
  const leaf = Math.min(kLeafPixelsMax, kTreePixelsMax / leaves);
  const longest = Math.max(...placed.map((node) => node.from + node.tokens), 1);
  const rects = placed.flatMap((node) => {
    const text = `tokens ${grouped(node.from)} to ${grouped(node.from + node.tokens)}: ${shortBytes(node.bytes)}; on tiers: ${onTiers(node)}`;
    const area = {
      x: (width * node.from) / longest,
      y: node.top * leaf,
      width: Math.max((width * node.tokens) / longest, 1),
      height: node.leaves * leaf,
    };
    return [svg("rect", { class: `area ${node.locked ? "s1" : "s2"}`, ...area }, svg("title", {}, text)), ...tierStrips(node, area)];
  });
  const label = `${grouped(placed.length)} of ${grouped(tree.nodes)} runs of tokens, the longest path has ${grouped(longest)} tokens`;
  const height = leaves * leaf;
  place.replaceChildren(
    svg("svg", { viewBox: `0 0 ${width} ${height + 18}`, role: "img", "aria-label": label }, ...rects,
      svg("text", { x: 0, y: height + 14 }, "0 tokens"),
      svg("text", { x: width, y: height + 14, "text-anchor": "end" }, `${grouped(longest)} tokens`)),
  );
}

function treeRows(tree) {
  const { placed } = placeNodes(tree.shown);
  return placed.map((node) => [
    `${grouped(node.from)} to ${grouped(node.from + node.tokens)}`,
    grouped(node.bytes), grouped(node.points), grouped(node.children), node.locked ? "yes" : "no",
    onTiers(node),
  ]);
}

class StateView {
  constructor(server, failed, well) {
    Object.assign(this, { server, failed, well, looking: false, timer: null, reading: false });
    this.answers = new SpeedHistory(element("answer-speed"), "Answer tokens per second");
    this.prompts = new SpeedHistory(element("prompt-speed"), "Prompt tokens per second");
    document.addEventListener("visibilitychange", () => this.look(this.looking));
  }

  // Reads on while `looking` and the tab is visible.
  look(looking) {
    this.looking = looking;
    clearTimeout(this.timer);
    if (looking && !document.hidden && !this.reading) this.read();
  }

  async read() {
    this.reading = true;
    try {
      this.show(await this.server.get("/state"));
      this.well();
    } catch (problem) {
      this.failed(problem);
    }
    this.reading = false;
    clearTimeout(this.timer);
    if (this.looking && !document.hidden) this.timer = setTimeout(() => this.read(), kPollMs);
  }

  show(state) {
    const { occupancy, tree, hits, engine } = state;
    this.state = state;
    element("budget").replaceChildren(...bar(budgetParts(state), `Budget of ${shortBytes(occupancy.budget_bytes)}`));
    numbers(element("kinds"), kindEntries(occupancy.classes));
    element("hits").replaceChildren(
      html("p", { id: "hit-rate" }, `${(100 * hits.rate).toFixed(1)} % of ${grouped(hits.tokens_asked)} tokens were at hand.`),
      ...bar(hitParts(hits), "Tokens of prompts"));
    const now = performance.now();
    this.answers.add(now, engine.answer_tokens);
    this.prompts.add(now, engine.prompt_tokens_computed);
    this.answers.draw();
    this.prompts.draw();
    numbers(element("work"), [
      ["Queue", grouped(engine.waiting)], ["Running", grouped(engine.running)],
      ["Finished", grouped(engine.finished)], ["Failed", grouped(engine.failed)],
      ["Cancelled", grouped(engine.cancelled)], ["Refused", grouped(engine.refused)],
      ["Preemptions", grouped(engine.preemptions)], ["Sequences", grouped(occupancy.sequences)],
      ["Answer tokens", grouped(engine.answer_tokens)],
    ]);
    drawTree(element("tree"), tree);
    element("tree-legend").replaceChildren(
      html("li", { class: "s1" }, "kept and in use: an answer goes on from it"),
      html("li", { class: "s2" }, "kept, may go when room is wanted"),
      ...state.tiers.map(({ name }, index) => html("li", { class: tierColour(index) }, `also on ${name}`)));
    numbers(element("tree-numbers"), [
      ["Runs of tokens", grouped(tree.nodes)], ["Points", grouped(tree.points)],
      ["Evictions", grouped(tree.evictions)], ["Evicted tokens", grouped(tree.evicted_tokens)],
      ["Policy", tree.policy],
    ]);
    element("tree-table").replaceChildren(table(["Tokens", "Bytes", "Points", "Go on from it", "In use", "On tiers"], treeRows(tree)));
    this.showTiers(state);
    document.body.dataset.states = Number(document.body.dataset.states || 0) + 1;
  }

  showTiers({ tiers, loads, writes, problem }) {
    element("tier-problem").hidden = problem === null;
    element("tier-problem").textContent = problem === null ? "" : problem;
    element("tiers").replaceChildren(tiers.length === 0
      ? html("p", {}, "None: what has to go from memory is computed again.")
      : table(["Tier", "Objects", "Bytes", "Tokens read back"],
        tiers.map((tier) => [tier.name, grouped(tier.objects), grouped(tier.bytes), grouped(tier.tokens_loaded)])));
    numbers(element("tier-numbers"), tiers.length === 0 ? [] : [
      ["Loads", grouped(loads.done)], ["Loads failed", grouped(loads.failed)],
      ["Loads late or declined", grouped(loads.late + loads.declined)],
      ["Writes", grouped(writes.done)], ["Writes waiting", grouped(writes.waiting)],
      ["Writes failed", grouped(writes.failed)], ["Writes given up", grouped(writes.given_up)],
    ]);
  }
}
