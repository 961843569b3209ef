#!/usr/bin/env python3
"""The page of `cairn serve` in a browser: it chats as the API does, shows what GET /state says, asks no other place,
fits a phone, reads well in light and dark, and works from the keyboard.

Needs `make models` for a real model; skips, saying so, where it is absent. $CAIRN is the program.

    tests/serve_page_test.py --screenshot docs/serve_page.png     makes the picture of the README
"""

import json
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import chromium  # noqa: E402
from page_test import CONTRAST  # noqa: E402
from serve_process import MODEL, Server  # noqa: E402

QUESTION = "What is the capital of France?"
LONG = "The quick brown fox jumps over the lazy dog. " * 12
STOPPED_AFTER = 400  # tokens: far more than are written before the test stops the answer

HELPERS = """
const byId = (id) => document.getElementById(id);
const until = async (met) => {
  for (let i = 0; i < 6000 && !met(); i++) await new Promise((next) => setTimeout(next, 10));
  if (!met()) throw new Error("the page did not get there");
};
const idle = () => until(() => !byId("send").disabled);
const settings = (temperature, tokens, system = "") => {
  byId("temperature").value = temperature;
  byId("max-tokens").value = tokens;
  byId("system").value = system;
};
const say = async (words) => {
  byId("message").value = words;
  byId("send").click();
};
const turns = () => [...document.querySelectorAll(".turn")].map((turn) =>
  [turn.classList[1], turn.querySelector(".words").textContent]);
const usage = () => [...document.querySelectorAll(".usage")].at(-1).textContent;
const go = (view) => { location.hash = view; };
const states = () => Number(document.body.dataset.states || 0);
const list = (id) => Object.fromEntries([...byId(id).querySelectorAll("dt")].map((dt) =>
  [dt.textContent, dt.nextSibling.textContent]));
"""


def grouped(number):
    return f"{number:,}"


@unittest.skipUnless(MODEL.exists(), f"{MODEL.name} is absent, `make models` brings it")
class ServePageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.stop)
        cls.browser = cls.enterClassContext(chromium.Chromium())

    def setUp(self):
        self.open("")

    def tearDown(self):
        self.browser.prefer("light")
        self.browser.size_window(1280, 900)

    def open(self, fragment, server=None):
        self.url = (server or self.server).url + "/"
        self.browser.visit(self.url + fragment)
        self.do("await until(() => byId('model')?.textContent);")  # it may still be arriving

    def do(self, body, problems=()):
        seen = self.browser.evaluate(f"(async () => {{ {HELPERS} {body} }})()")
        self.assertEqual([p for p in self.browser.problems if not any(known in p for known in problems)], [])
        for url in self.browser.requests:
            self.assertTrue(url.startswith((self.url, "data:", "about:blank")), url)
        return seen

    def api_answer(self, messages, **more):
        status, answer = self.server.ask_json("/v1/chat/completions", {"messages": messages, "temperature": 0, **more})
        self.assertEqual(status, 200, answer)
        return answer

    # ---- the page itself ----

    def test_the_page_and_the_estimator_come_with_a_strict_policy_and_are_kept_by_browsers(self):
        for path in ("/", "/size"):
            status, headers, text = self.server.ask(path)
            self.assertEqual(status, 200)
            self.assertEqual(headers["Content-Type"], "text/html; charset=utf-8")
            policy = headers["Content-Security-Policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertIn("frame-ancestors 'self'", policy)
            self.assertNotIn("unsafe-inline", policy)
            self.assertNotIn("'unsafe-eval'", policy)
            self.assertNotIn("@", policy)
            self.assertNotIn("://", text.replace("http://www.w3.org/2000/svg", ""))
            status, _, text = self.server.ask(path, headers={"If-None-Match": headers["ETag"]})
            self.assertEqual((status, text), (304, ""))

    def test_the_estimator_of_this_model_is_shown_without_its_path(self):
        self.do("go('size'); await until(() => byId('size-frame').contentDocument?.body?.dataset.answers > 0);")
        name = self.do("return byId('size-frame').contentDocument.getElementById('name').textContent;")
        self.assertEqual(name, MODEL.stem)
        self.assertFalse(str(MODEL.parent) in self.server.ask("/size")[2])

    # ---- chat ----

    def test_an_answer_streams_in_and_is_the_apis(self):
        seen = self.do(f"""settings(0, 24, "Be brief.");
          let lengths = new Set();
          new MutationObserver(() => lengths.add(turns().at(-1)[1].length)).observe(byId("talk"), {{ childList: true, subtree: true, characterData: true }});
          await say({json.dumps(QUESTION)}); await idle();
          return [turns(), lengths.size, usage(), byId("talk").getAttribute("aria-busy")];""")
        turns, lengths, usage, busy = seen
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
        answer = self.api_answer(messages, max_tokens=24)
        words = answer["choices"][0]["message"]["content"]
        self.assertEqual(turns, [["user", QUESTION], ["assistant", words]])
        self.assertGreater(lengths, 3)
        self.assertIn(f"{answer['usage']['prompt_tokens']} tokens read", usage)
        self.assertIn(f"{answer['usage']['completion_tokens']} tokens written", usage)
        self.assertRegex(usage, r"[\d.]+ tokens/s")
        self.assertEqual(busy, "false")

        more = self.do('await say("And of Spain?"); await idle(); return [turns().at(-1)[1], usage()];')
        messages += [{"role": "assistant", "content": words}, {"role": "user", "content": "And of Spain?"}]
        self.assertEqual(more[0], self.api_answer(messages, max_tokens=24)["choices"][0]["message"]["content"])
        self.assertRegex(more[1], r"\(\d+ from memory\)")

    def test_an_answer_can_be_stopped_given_again_and_forgotten(self):
        self.do(f"settings(0, {STOPPED_AFTER}); await say({json.dumps(LONG)}); await until(() => turns().length > 1 && turns()[1][1] !== '');")
        stopped = self.do("byId('stop').click(); await idle(); return [turns(), byId('talk').textContent];")
        self.assertTrue(stopped[1].endswith("Stopped."))
        again = self.do("settings(0, 12); byId('again').click(); await idle(); return turns();")
        expected = self.api_answer([{"role": "user", "content": LONG}], max_tokens=12)["choices"][0]["message"]["content"]
        self.assertEqual(again, [["user", LONG], ["assistant", expected]])
        self.assertEqual(self.do("byId('new-chat').click(); return turns();"), [])

    def test_words_with_markup_stay_words_and_errors_are_told(self):
        markup = "<img src=x onerror=alert(1)> <b>&amp;"
        seen = self.do(f"settings(0, 4); await say({json.dumps(markup)}); await idle(); return [turns()[0][1], document.images.length];")
        self.assertEqual(seen, [markup, 0])
        self.do("byId('new-chat').click();")
        told = self.do("settings(0, 4); await say('word '.repeat(5000)); await idle(); return byId('problem').textContent;",
                       problems=["status of 400"])
        self.assertIn("context", told)

    # ---- state ----

    def test_the_state_view_shows_the_numbers_of_get_state(self):
        self.api_answer([{"role": "user", "content": LONG}], max_tokens=4)
        self.api_answer([{"role": "user", "content": LONG + "Now?"}], max_tokens=4)
        seen = self.do("""go('state'); await until(() => states() > 0);
          return [list('work'), list('tree-numbers'), byId('budget').textContent, byId('hits').textContent,
                  document.querySelectorAll('#tree rect').length, byId('tree-table').querySelectorAll('tbody tr').length,
                  [...document.querySelectorAll('#budget .bar span')].map((each) => each.getBoundingClientRect().width)];""")
        work, numbers, budget, hits, rects, rows, widths = seen
        _, state = self.server.ask_json("/state")
        self.assertEqual(work["Finished"], grouped(state["engine"]["finished"]))
        self.assertEqual(work["Answer tokens"], grouped(state["engine"]["answer_tokens"]))
        self.assertEqual(work["Queue"], "0")
        self.assertEqual(numbers["Runs of tokens"], grouped(state["tree"]["nodes"]))
        self.assertEqual(numbers["Policy"], state["tree"]["policy"])
        self.assertGreater(state["tree"]["nodes"], 2)
        self.assertEqual([rects, rows], [min(state["tree"]["nodes"], 200)] * 2)
        self.assertIn(f"from memory {grouped(state['hits']['tokens_from_memory'])} tokens", hits)
        self.assertIn(f"{100 * state['hits']['rate']:.1f} % of {grouped(state['hits']['tokens_asked'])} tokens", hits)
        use, occupancy = state["bytes_by_use"], state["occupancy"]
        self.assertEqual(sum(use.values()), occupancy["live_bytes"])
        self.assertGreater(use["kept"], 0)
        self.assertEqual(use["running"], 0)
        self.assertIn(f"free {occupancy['free_bytes'] / 2**30:.3g} GiB", budget)
        whole = sum(widths)
        for width, part in zip(widths, [*use.values(), occupancy["free_bytes"]], strict=True):
            self.assertAlmostEqual(width / whole, part / occupancy["budget_bytes"], delta=0.02)

    def test_the_state_view_follows_while_it_is_looked_at_and_only_then(self):
        self.do("go('state'); await until(() => states() > 1);")
        self.api_answer([{"role": "user", "content": "Hello"}], max_tokens=5)
        _, state = self.server.ask_json("/state")
        finished = grouped(state["engine"]["finished"])
        self.do(f"await until(() => list('work').Finished === '{finished}');")
        self.assertIn("now", self.do("return document.querySelector('#answer-speed svg').getAttribute('aria-label');"))
        before = self.do("go('chat'); await new Promise((next) => setTimeout(next, 500)); return states();")
        self.assertEqual(self.do("await new Promise((next) => setTimeout(next, 2500)); return states();"), before)

    @staticmethod
    def server_that_read_back(folder, question):
        """A new one: where the machine is busy a read may rightly be given up as late, so some are tried."""
        for last in (False, False, True):
            server = Server("--disk-tier", folder)
            server.learn_the_cost_of_computing()
            server.ask_json("/v1/chat/completions", question)
            if last or server.ask_json("/state")[1]["hits"]["tokens_by_origin"]["disk"] > 0:
                return server
            server.settle()
            server.stop()

    def test_the_state_view_shows_what_lies_on_tiers_and_what_was_read_back(self):
        with tempfile.TemporaryDirectory() as folder:
            question = {"messages": [{"role": "user", "content": LONG * 3}], "max_tokens": 4, "temperature": 0}
            first = Server("--disk-tier", folder)
            self.addCleanup(lambda: first.process.poll() is None and first.stop())
            first.ask_json("/v1/chat/completions", question)
            first.settle()
            first.stop()
            server = self.server_that_read_back(folder, question)
            self.addCleanup(server.stop)
            server.settle()
            self.open("#state", server)
            seen = self.do("""await until(() => states() > 0);
              const boxes = (kind) => [...document.querySelectorAll('#tree rect.' + kind)].map((each) => each.getBBox());
              const strips = [...document.querySelectorAll('#tree rect.strip')];
              return [byId('hits').textContent, byId('tree-legend').textContent, byId('tree-table').textContent, byId('tiers').textContent,
                      byId('kinds').textContent, boxes('area').map((box) => box.width), boxes('strip').map((box) => box.width),
                      strips.map((each) => getComputedStyle(each).fill),
                      getComputedStyle(byId('tree-legend').lastChild, '::before').backgroundColor];""")
            hits, legend, rows, tiers, kinds, areas, strips, fills, tier_colour = seen
            state = server.ask_json("/state")[1]
            loaded = grouped(state["hits"]["tokens_by_origin"]["disk"])
            self.assertNotEqual(loaded, "0", state)
            self.assertIn(f"from disk {loaded} tokens", hits)
            self.assertTrue(tiers.endswith(loaded), tiers)
            self.assertTrue(legend.endswith("also on disk"), legend)
            on_disk = [(node["on_tiers"]["disk"] / node["tokens"], area) for node, area
                       in zip(state["tree"]["shown"], areas, strict=True) if node["on_tiers"]["disk"] > 0]
            self.assertGreater(len(on_disk), 0)
            for width, (share, area) in zip(strips, on_disk, strict=True):
                self.assertAlmostEqual(width, share * area, delta=0.1)
            self.assertEqual(set(fills), {tier_colour})
            for node in state["tree"]["shown"]:
                if tokens := node["on_tiers"]["disk"]:
                    self.assertIn(f"{grouped(tokens)} on disk", rows)
            self.assertIn("Rows of all tokens", kinds)

    # ---- keys, keyboard, phones, eyes ----

    def test_a_server_with_keys_is_asked_with_the_one_that_was_given_and_it_is_kept(self):
        server = Server("--api-key", "a-secret")
        self.addCleanup(server.stop)
        self.open("", server)
        known = ["status of 401"]
        shown = self.do("settings(0, 4); await say('Hello'); await idle(); return [byId('key-form').hidden, byId('problem').textContent];", known)
        self.assertEqual(shown, [False, "Invalid API Key"])
        seen = self.do("""byId('key').value = 'a-secret'; byId('key-use').click(); byId('again').click(); await idle();
          return [byId('key-form').hidden, byId('problem').hidden, turns().length, document.querySelectorAll('.usage').length];""", known)
        self.assertEqual(seen, [True, True, 2, 1])
        self.open("#state", server)
        self.do("await until(() => states() > 0);")

    def test_the_keyboard_reaches_everything_and_enter_sends(self):
        self.do("for (const each of document.querySelectorAll('details')) each.open = true; settings(0, 4);")
        reached = []
        for _ in range(14):
            self.browser.press("Tab")
            reached.append(self.browser.evaluate("document.activeElement.id"))
            outline = self.browser.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            self.assertEqual(outline, "solid", reached[-1])
            if reached[-1] == "max-tokens":
                break
        controls = ["to-chat", "to-state", "to-size", "message", "send", "new-chat", "system", "temperature", "max-tokens"]
        self.assertEqual([each for each in reached if each], controls)
        self.do("byId('message').focus(); byId('message').value = 'Hello';")
        self.browser.press("Enter")
        self.assertEqual(self.do("await until(() => turns().length === 2); await idle(); return turns()[0][1];"), "Hello")
        self.do("byId('to-state').focus();")
        self.browser.press("Enter")
        shown = self.do("await until(() => states() > 0); return [byId('view-chat').hidden, byId('to-state').getAttribute('aria-current')];")
        self.assertEqual(shown, [True, "page"])

    def test_every_control_has_a_name(self):
        self.do("for (const each of document.querySelectorAll('details')) each.open = true; byId('key-form').hidden = false;")
        self.browser.call("Accessibility.enable")
        roles = {"textbox", "spinbutton", "button", "image", "img", "link", "log", "form", "Iframe"}
        for view in ("chat", "state", "size"):
            self.do(f"go('{view}'); await until(() => '{view}' !== 'state' || states() > 0);")
            nodes = [node for node in self.browser.call("Accessibility.getFullAXTree")["nodes"]
                     if not node.get("ignored") and node.get("role", {}).get("value") in roles]
            self.assertGreater(len(nodes), 4)
            self.assertEqual([node for node in nodes if not node.get("name", {}).get("value")], [])

    def test_it_fits_a_phone(self):
        self.browser.size_window(360, 740)
        self.open("")
        self.do("settings(0, 24); await say('x'.repeat(300)); await idle();")
        for view in ("chat", "state", "size"):
            self.do(f"go('{view}'); await until(() => '{view}' !== 'state' || states() > 0);")
            self.do("for (const each of document.querySelectorAll('details')) each.open = true;")
            wide = self.do("return [document.documentElement.scrollWidth, innerWidth];")
            self.assertEqual(wide, [360, 360], view)

    def test_words_stand_out_in_light_and_dark(self):
        self.api_answer([{"role": "user", "content": LONG}], max_tokens=4)
        grounds = []
        for scheme in ("light", "dark"):
            self.browser.prefer(scheme)
            self.open("")
            self.do("""settings(0, 4); await say('Hello'); await idle(); byId('key-form').hidden = false;
              byId('problem').hidden = false; byId('problem').textContent = 'Words of a problem';
              for (const each of document.querySelectorAll('details')) each.open = true;""")
            for view, least in (("chat", 15), ("state", 40), ("size", 3)):
                self.do(f"go('{view}'); await until(() => '{view}' !== 'state' || states() > 0);")
                found = self.browser.evaluate(CONTRAST)
                self.assertGreater(len(found), least)
                self.assertEqual([each for each in found if each[0] < each[1]], [], (scheme, view))
            grounds.append(self.browser.evaluate("getComputedStyle(document.body).backgroundColor"))
        self.assertNotEqual(*grounds)


def take_screenshot(path):
    """The state view after some requests that begin alike, beside nothing that changes from run to run but speeds."""
    folder = tempfile.mkdtemp()
    server = Server("--state-bytes", "32MiB", "--disk-tier", folder)
    try:
        with chromium.Chromium() as browser:
            browser.size_window(900, 700)
            browser.visit(server.url + "/#state")
            for topic in ("France", "Spain", "Italy"):
                first = [{"role": "system", "content": LONG}, {"role": "user", "content": f"The capital of {topic}?"}]
                for last in ("Why?", "Since when?"):
                    status, answer = server.ask_json("/v1/chat/completions", {"messages": first, "max_tokens": 24, "seed": 1})
                    assert status == 200, answer
                    words = answer["choices"][0]["message"]
                    server.ask_json("/v1/chat/completions", {"messages": [*first, words, {"role": "user", "content": last}],
                                                             "max_tokens": 40, "seed": 1})
            server.settle()
            seen_all = "await until(() => list('work').Finished === '12' && list('tier-numbers')['Writes waiting'] === '0');"
            browser.evaluate(f"(async () => {{ {HELPERS} await new Promise((next) => setTimeout(next, 2500)); {seen_all} }})()")
            browser.screenshot(path)
    finally:
        server.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--screenshot"]:
        take_screenshot(sys.argv[2])
    else:
        unittest.main()
