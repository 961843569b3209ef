// Speeds over the last minutes, from counters that are read again and again.

const kHistoryMs = 5 * 60 * 1000;
const kPointsMax = 600;

class SpeedHistory {
  constructor(place, title) {
    this.place = place;
    this.title = title;
    this.points = [];  // {time_ms, speed}
    this.last = null;
  }

  add(time_ms, count) {
    // A counter that falls is another process's.
    const before = this.last !== null && count >= this.last.count ? this.last : null;
    this.last = { time_ms, count };
    if (before === null || time_ms <= before.time_ms) return;
    this.points.push({ time_ms, speed: (1000 * (count - before.count)) / (time_ms - before.time_ms) });
    const oldest = time_ms - kHistoryMs;
    this.points = this.points.filter((point) => point.time_ms >= oldest).slice(-kPointsMax);
  }

  // Speeds between readings that are far apart are an average: the page was not looked at.
  draw() {
    const [width, height] = [300, 64];
    const now = this.points.at(-1);
    const most = Math.max(...this.points.map((point) => point.speed), 1);
    const start = (this.last?.time_ms ?? 0) - kHistoryMs;
    const x = (time_ms) => (width * (time_ms - start)) / kHistoryMs;
    const y = (speed) => height - 2 - ((height - 6) * speed) / most;
    const line = this.points.map((point) => `${x(point.time_ms).toFixed(1)},${y(point.speed).toFixed(1)}`).join(" ");
    const speed = now ? now.speed.toFixed(1) : "0.0";
    const label = `${this.title} over the last five minutes: now ${speed}, at most ${most.toFixed(1)}`;
    this.place.replaceChildren(
      html("p", { class: "muted" }, `${this.title}, of the last five minutes`),
      html("p", { class: "speed-now" }, speed),
      svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
        svg("line", { class: "axis", x1: 0, x2: width, y1: height - 1, y2: height - 1 }),
        svg("polyline", { class: "speed", points: line })),
    );
  }
}
