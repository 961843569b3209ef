// The page: one model, one question, and the report that answers it, again after every change.

const kCurvePoints = 48;
const kConfigBytesMax = 16 << 20;

class Page {
  constructor(estimator, data) {
    this.estimator = estimator;
    this.first = data.model;
    this.model = data.model;
    this.pending = false;
    this.controls = new Controls(() => this.ask());
    this.chart = new AreaChart(element("curve-chart"), element("curve-readout"));
    const question = this.linked() || data.question;
    const choices = estimator.choices(question);
    this.defaults = choices.defaults;
    this.controls.offer(choices);
    this.controls.show({ ...choices.defaults, ...question }, choices.gpu);
    element("explain").addEventListener("change", () => this.ask());
    this.takeConfigs();
    this.answer();
  }

  // A question in the address: a link to what was seen.
  linked() {
    try {
      return JSON.parse(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return null;
    }
  }

  // However many changes come before the next picture, one answer.
  ask() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.answer();
    });
  }

  answer() {
    const question = this.controls.question;
    const explain = element("explain").checked;
    const report = this.estimator.size(this.model, question, explain);
    element("sections").classList.toggle("explained", explain);
    element("name").textContent = this.model.name;
    element("problem").hidden = !report.error;
    element("answers").hidden = Boolean(report.error);
    if (report.error) {
      element("problem").textContent = `cairn: ${report.error}`;
      element("summary").textContent = "No answer to this question.";
    } else {
      this.show(question, report);
    }
    document.body.dataset.answers = Number(document.body.dataset.answers || 0) + 1;
  }

  show(question, { json, sections }) {
    const report = JSON.parse(json);
    const sizes = report.sizes[report.sizes.length - 1];
    this.controls.showContext(sizes.tokens, report.context_length || 0);
    element("json").textContent = json;
    element("sections").replaceChildren(...sections.map(sectionElement));
    element("command").textContent = commandLine(this.model.name, question, this.defaults);
    element("summary").textContent =
      `${shortBytes(sizes.total_bytes)} of state for ${grouped(sizes.batch)} ` +
      `${sizes.batch === 1 ? "request" : "requests"} of ${grouped(sizes.tokens)} tokens, ` +
      `${shortBytes(report.bytes_per_token)} for each further token of a request.`;
    this.drawCurve(question, report, sizes.tokens);
    history.replaceState(null, "", "#" + encodeURIComponent(JSON.stringify(question)));
  }

  drawCurve(question, report, marked) {
    const last = Math.max(report.context_length || 0, marked, 1);
    const contexts = new Set([0, marked]);
    for (let i = 1; i <= kCurvePoints; i++) contexts.add(Math.round((last * i) / kCurvePoints));
    for (const { window } of report.layers) if (window <= last) contexts.add(window);
    const ascending = [...contexts].sort((a, b) => a - b);
    const curve = this.estimator.curve(this.model, { ...question, requests: [], context: ascending });
    element("curve").hidden = Boolean(curve.error);
    if (curve.error) return;
    const groups = curve.groups.map(({ kind, layers, bytes }) => ({
      label: `${kind} (${layers} ${layers === 1 ? "layer" : "layers"})`,
      bytes,
    }));
    this.chart.draw({ ...curve, groups }, question.requests.length ? null : marked);
    const at = curve.tokens.indexOf(marked);
    element("curve-legend").replaceChildren(
      ...legend(groups.map((group) => `${group.label}: ${shortBytes(group.bytes[at])}`)),
    );
    element("curve-table").replaceChildren(tableElement({
      label: "State in bytes",
      columns: ["Tokens", ...groups.map((group) => group.label), "Total"],
      numbers: Array(groups.length + 2).fill(true),
      rows: curve.tokens.map((tokens, i) =>
        [tokens, ...groups.map((group) => group.bytes[i]), curve.total[i]].map(grouped)),
    }));
  }

  takeConfigs() {
    element("config-file").addEventListener("change", (event) => this.read(event.target.files[0]));
    element("config-use").addEventListener("click", () => this.use("config.json", element("config-text").value));
    element("catalogue").addEventListener("change", (event) => {
      const name = event.target.value;
      this.model = name === "" ? this.first : { name, where: name };
      this.forgetContext();
    });
    element("config-reset").addEventListener("click", () => {
      this.model = this.first;
      this.forgetContext();
    });
    document.addEventListener("dragover", (event) => {
      event.preventDefault();
      document.body.classList.add("dropping");
    });
    document.addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) document.body.classList.remove("dropping");
    });
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      document.body.classList.remove("dropping");
      this.read(event.dataTransfer.files[0]);
    });
  }

  async read(file) {
    if (!file) return;
    const small = file.size <= kConfigBytesMax;
    this.use(file.name, small ? await file.text() : "");
    element("config-text").value = small ? this.model.config : "";
  }

  use(name, config) {
    this.model = { name, where: name, config };
    this.forgetContext();
  }

  // Another model has a context of its own.
  forgetContext() {
    this.controls.question.context = [];
    element("context").value = "";
    this.answer();
  }
}

Estimator.load().then(
  (estimator) => new Page(estimator, JSON.parse(element("data").textContent)),
  (problem) => {
    element("problem").hidden = false;
    element("problem").textContent = `This browser can't run the estimator: ${problem.message}`;
    element("summary").textContent = "";
  },
);
