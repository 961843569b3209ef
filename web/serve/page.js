// The page: three views, named by the address's fragment, and what went wrong.

const kViews = ["chat", "state", "size"];

class Page {
  constructor() {
    this.server = new Server();
    const failed = (problem) => this.fail(problem);
    this.chat = new Chat(this.server, failed);
    this.state = new StateView(this.server, failed, () => this.recover());
    element("key-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.server.useKey(element("key").value);
      element("key").value = "";
      this.recover();
      element("message").focus();
    });
    addEventListener("hashchange", () => this.open());
    this.open();
    this.name();
  }

  open() {
    const asked = location.hash.slice(1);
    const view = kViews.includes(asked) ? asked : kViews[0];
    for (const each of kViews) {
      element(`view-${each}`).hidden = each !== view;
      if (each === view) element(`to-${each}`).setAttribute("aria-current", "page");
      else element(`to-${each}`).removeAttribute("aria-current");
    }
    this.state.look(view === "state");
    const frame = element("size-frame");
    if (view === "size" && !frame.hasAttribute("src")) frame.setAttribute("src", "/size");
  }

  async name() {
    try {
      const { data } = await this.server.get("/v1/models");
      element("model").textContent = data[0].id;
      document.title = `Cairn: ${data[0].id}`;
    } catch (problem) {
      this.fail(problem);
    }
  }

  fail(problem) {
    element("problem").textContent = problem.message;
    element("problem").hidden = false;
    if (problem.status === 401) element("key-form").hidden = false;
  }

  recover() {
    element("problem").hidden = true;
    element("key-form").hidden = true;
  }
}

const page = new Page();
