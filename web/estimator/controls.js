// The controls: a question's members, named like the command line's flags, and the inputs for them.

// Eight steps to a doubling; the numbers between powers of two are round in binary.
const octaves = {
  toSlider: (value) => {
    if (value < 1) return 0;
    const power = Math.floor(Math.log2(value));
    return 1 + 8 * power + Math.round(8 * (value / 2 ** power - 1));
  },
  fromSlider: (step) => {
    if (step === 0) return 0;
    const power = Math.floor((step - 1) / 8);
    return Math.round(2 ** power * (1 + ((step - 1) % 8) / 8));
  },
};
const percent = { toSlider: (value) => Math.round(100 * value), fromSlider: (step) => step / 100 };

const sliders = [
  { id: "context", scale: octaves, lowest: 0 },
  { id: "batch", scale: octaves, lowest: 1 },
  { id: "memory-fraction", scale: percent, lowest: 0.01 },
];
const numbers = ["batch", "shared-prefix", "memory-fraction", "tp", "pp", "dp", "ep", "dcp"];
const words = ["cache-type-k", "cache-type-v", "weights-dtype"];

class Controls {
  // `changed` is called after each change by the user.
  constructor(changed) {
    this.question = {};
    element("controls").addEventListener("submit", (event) => event.preventDefault());
    for (const slider of sliders) {
      const input = element(slider.id);
      const range = element(slider.id + "-slider");
      range.addEventListener("input", () => {
        const value = slider.scale.fromSlider(Number(range.value));
        input.value = Math.max(slider.lowest, value);
        range.setAttribute("aria-valuetext", input.value);
        this.touched(slider.id, changed);
      });
      input.addEventListener("input", () => {
        this.moveSlider(slider);
        this.touched(slider.id, changed);
      });
    }
    const others = [...numbers, ...words, "gpu", "gpu-count"];
    for (const id of others.filter((id) => !sliders.some((slider) => slider.id === id))) {
      element(id).addEventListener("input", () => this.touched(id, changed));
    }
    element("mix-off").addEventListener("click", () => {
      this.question.requests = [];
      this.show(this.question);
      changed();
    });
  }

  // What may be chosen, from the estimator.
  offer({ codecs, weights, models, gpus }) {
    this.fill("catalogue", [["", "choose"], ...models.map((name) => [name, name])]);
    this.fill("cache-type-k", codecs.map((name) => [name, name]));
    this.fill("cache-type-v", codecs.map((name) => [name, name]));
    this.fill("weights-dtype", [["", "as filed"], ...weights.map((name) => [name, name])]);
    const cards = gpus.map(({ name, memory }) => [name, `${name} (${memory})`]);
    this.fill("gpu", [["", "none"], ...cards]);
  }

  fill(id, options) {
    element(id).replaceChildren(...options.map(([value, label]) => new Option(label, value)));
  }

  select(id, value) {
    const box = element(id);
    if (![...box.options].some((option) => option.value === value)) box.add(new Option(value, value));
    box.value = value;
  }

  // Puts a question into the inputs; `gpu` is its card, {name, count}.
  show(question, gpu) {
    this.question = { ...question };
    for (const id of numbers) element(id).value = question[id];
    for (const id of words) this.select(id, question[id]);
    if (gpu) {
      this.select("gpu", gpu.name);
      element("gpu-count").value = gpu.count;
    }
    const context = question.context;
    element("context").value = context.length ? context[context.length - 1] : "";
    const mixed = question.requests.length > 0;
    element("mix").hidden = !mixed;
    const requests = question.requests.reduce((sum, group) => sum + group.count, 0);
    element("mix-text").textContent = `${requests} requests of the lengths that were given.`;
    for (const id of ["context", "batch"]) {
      element(id).disabled = mixed;
      element(id + "-slider").disabled = mixed;
    }
    sliders.forEach((slider) => this.moveSlider(slider));
  }

  // The model's own context where none was asked for, and how far the slider goes.
  showContext(tokens, own) {
    if (element("context").value === "") element("context").value = tokens;
    const range = element("context-slider");
    range.max = octaves.toSlider(Math.max(4 * own, 131072, tokens));
    element("batch-slider").max = octaves.toSlider(Math.max(1024, Number(element("batch").value)));
    sliders.forEach((slider) => this.moveSlider(slider));
  }

  moveSlider(slider) {
    const value = Number(element(slider.id).value);
    const range = element(slider.id + "-slider");
    range.value = slider.scale.toSlider(value);
    range.setAttribute("aria-valuetext", String(value));
  }

  // An empty input is the flag's absence: the estimator then says what it takes.
  touched(id, changed) {
    const text = element(id).value;
    if (id === "context") this.question.context = text === "" ? [] : [Number(text)];
    else if (id === "gpu" || id === "gpu-count") this.question.gpu = this.card();
    else if (words.includes(id)) this.question[id] = text;
    else if (text === "") delete this.question[id];
    else this.question[id] = Number(text);
    changed();
  }

  card() {
    const name = element("gpu").value;
    const count = element("gpu-count").value;
    return name === "" || count === "" || count === "1" ? name : `${name} x ${count}`;
  }
}
