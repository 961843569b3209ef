// The estimator in WebAssembly: the very code of the command line program. Texts in, JSON out.

class Estimator {
  static async load() {
    const packed = document.getElementById("estimator").textContent.trim();
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const module = await WebAssembly.compile(await new Response(stream).arrayBuffer());
    return new Estimator(module);
  }

  constructor(module) {
    this.module = module;
    this.start();
  }

  start() {
    this.said = "";
    this.exports = new WebAssembly.Instance(this.module, {
      wasi_snapshot_preview1: this.system(),
    }).exports;
    this.exports._initialize();
  }

  // All of the system that the C library still asks for: no environment, no files, only the way to
  // say which invariant broke.
  system() {
    const decoder = new TextDecoder();
    const view = () => new DataView(this.exports.memory.buffer);
    return {
      environ_sizes_get: (count, size) => {
        view().setUint32(count, 0, true);
        view().setUint32(size, 0, true);
        return 0;
      },
      environ_get: () => 0,
      fd_close: () => 8,
      fd_seek: () => 8,
      fd_write: (file, pieces, count, written) => {
        let total = 0;
        for (let i = 0; i < count; i++) {
          const at = view().getUint32(pieces + 8 * i, true);
          const size = view().getUint32(pieces + 8 * i + 4, true);
          this.said += decoder.decode(new Uint8Array(this.exports.memory.buffer, at, size));
          total += size;
        }
        view().setUint32(written, total, true);
        return 0;
      },
      proc_exit: (code) => {
        throw new Error(`exit ${code}`);
      },
    };
  }

  put(text) {
    const bytes = new TextEncoder().encode(text);
    const at = this.exports.cairn_allocate(bytes.length + 1);
    if (at === 0) throw new Error("out of memory");
    const memory = new Uint8Array(this.exports.memory.buffer);
    memory.set(bytes, at);
    memory[at + bytes.length] = 0;
    return at;
  }

  take(at) {
    const memory = new Uint8Array(this.exports.memory.buffer);
    return JSON.parse(new TextDecoder().decode(memory.subarray(at, memory.indexOf(0, at))));
  }

  // Calls an export with values as JSON. A trap leaves the memory in any state: begin anew.
  call(name, ...values) {
    try {
      const arguments_ = values.map((value) => this.put(JSON.stringify(value)));
      const answer = this.take(this.exports[name](...arguments_));
      arguments_.forEach((at) => this.exports.cairn_free(at));
      return answer;
    } catch (problem) {
      const said = this.said.trim();
      this.start();
      return { error: `the estimator failed: ${said || problem.message}` };
    }
  }

  // What the controls can be set to, the flags' defaults, and the question's card: {codecs, weights,
  // models, gpus, defaults, gpu: {name, count}}.
  choices(question) {
    return this.call("cairn_choices", question);
  }

  // The report of a model for a question: {json, sections}, or {error}.
  size(model, question, explain) {
    return this.call("cairn_size", model, question, explain);
  }
  // The state after each of the question's contexts: {tokens, total, groups}.
  curve(model, question) {
    return this.call("cairn_curve", model, question);
  }
}
