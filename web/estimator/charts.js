// The chart of the state, drawn by hand in SVG.

function shortTokens(tokens) {
  if (tokens >= 1 << 20 && tokens % (1 << 18) === 0) return `${tokens / (1 << 20)}M`;
  if (tokens >= 1024 && tokens % 256 === 0) return `${tokens / 1024}K`;
  return grouped(tokens);
}

// Up to five steps of 1, 2 or 4 times a power of two that cover `max`.
function ticks(max) {
  if (max <= 0) return [0];
  let step = 2 ** Math.ceil(Math.log2(max / 5));
  if (step < 1) step = 1;
  const list = [];
  for (let value = 0; value <= max; value += step) list.push(value);
  return list;
}

// Areas one on the other. curve: {tokens, total, groups: [{label, bytes}]}; marked: the context
// that is asked for.
class AreaChart {
  constructor(place, readout) {
    this.place = place;
    this.readout = readout;
    place.addEventListener("pointermove", (event) => this.point(event));
    place.addEventListener("pointerleave", () => this.leave());
    // One unit is one pixel, so that the words stay as large on a phone.
    new ResizeObserver(() => this.curve && this.draw(this.curve, this.marked)).observe(place);
  }

  draw(curve, marked) {
    const width = Math.max(this.place.clientWidth, 240);
    const [height, left, right, top, bottom] = [width < 500 ? 220 : 300, 74, 14, 12, 40];
    const most = Math.max(...curve.total, 1);
    const last = Math.max(curve.tokens[curve.tokens.length - 1], 1);
    const x = (tokens) => left + ((width - left - right) * tokens) / last;
    const y = (bytes) => height - bottom - ((height - top - bottom) * bytes) / most;
    const parts = [];
    for (const bytes of ticks(most)) {
      parts.push(svg("line", { class: "axis", x1: left, x2: width - right, y1: y(bytes), y2: y(bytes) }));
      parts.push(svg("text", { x: left - 6, y: y(bytes) + 4, "text-anchor": "end" }, shortBytes(bytes)));
    }
    for (const tokens of ticks(last)) {
      parts.push(svg("text", { x: x(tokens), y: height - bottom + 16, "text-anchor": "middle" }, shortTokens(tokens)));
    }
    parts.push(svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, "tokens of each request"));
    let below = curve.tokens.map(() => 0);
    curve.groups.forEach((group, index) => {
      const above = below.map((bytes, i) => bytes + group.bytes[i]);
      const points = [
        ...curve.tokens.map((tokens, i) => `${x(tokens).toFixed(1)},${y(above[i]).toFixed(1)}`),
        ...curve.tokens.map((tokens, i) => `${x(tokens).toFixed(1)},${y(below[i]).toFixed(1)}`).reverse(),
      ];
      parts.push(svg("polygon", { class: `area s${index % kColours}`, points: points.join(" ") }));
      below = above;
    });
    if (marked !== null && marked <= last) {
      parts.push(svg("line", { class: "mark", x1: x(marked), x2: x(marked), y1: top, y2: height - bottom }));
    }
    this.line = svg("line", { class: "hover", y1: top, y2: height - bottom, visibility: "hidden" });
    const label = `State versus context: ${shortBytes(curve.total[0])} at ${grouped(curve.tokens[0])} tokens, ` +
      `${shortBytes(most)} at ${grouped(last)} tokens.`;
    this.drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...parts, this.line);
    this.place.replaceChildren(this.drawing);
    this.geometry = { left, right, width, x, last };
    this.curve = curve;
    this.marked = marked;
    this.leave();
  }

  // The numbers at the pointer.
  point(event) {
    if (!this.curve) return;
    const box = this.drawing.getBoundingClientRect();
    const { left, right, width, x, last } = this.geometry;
    const at = ((event.clientX - box.left) * width) / box.width;
    const tokens = ((at - left) / (width - left - right)) * last;
    let nearest = 0;
    this.curve.tokens.forEach((each, i) => {
      if (Math.abs(each - tokens) < Math.abs(this.curve.tokens[nearest] - tokens)) nearest = i;
    });
    const on = x(this.curve.tokens[nearest]);
    this.line.setAttribute("x1", on);
    this.line.setAttribute("x2", on);
    this.line.setAttribute("visibility", "visible");
    this.say(nearest);
  }

  leave() {
    if (!this.curve) return;
    this.line.setAttribute("visibility", "hidden");
    this.readout.textContent = "Point at the chart for its numbers, or move the context's slider.";
  }

  say(index) {
    const groups = this.curve.groups.map((group) => `${group.label} ${shortBytes(group.bytes[index])}`);
    this.readout.textContent = `${grouped(this.curve.tokens[index])} tokens: ${shortBytes(this.curve.total[index])}` +
      (groups.length > 1 ? ` (${groups.join(", ")})` : "");
  }
}
