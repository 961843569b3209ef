#!/usr/bin/env python3
"""The page of `cairn size --html` in a browser: every number is the program's, it needs no network, fits a phone,
reads well in light and dark, and works from the keyboard."""

import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import chromium  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))
GOLDENS = sorted(path.parent for path in (ROOT / "tests" / "golden").glob("*/config.json"))
QUESTIONS = 90  # at least, over all goldens
PAGES = 12      # at most

# What a test does in the page: helpers that a person's hands and eyes stand for.
HELPERS = """
const byId = (id) => document.getElementById(id);
const answers = () => Number(document.body.dataset.answers || 0);
const until = async (met) => {
  for (let i = 0; i < 2000 && !met(); i++) await new Promise((next) => setTimeout(next, 5));
  if (!met()) throw new Error("the page did not answer");
};
const after = async (act) => {
  const before = answers();
  await act();
  await until(() => answers() > before);
  return seen();
};
const set = (id, value) => {
  const input = byId(id);
  if (input.type === "checkbox") input.checked = value; else input.value = value;
  input.dispatchEvent(new Event(input.type === "checkbox" ? "change" : "input", { bubbles: true }));
};
const seen = () => ({
  problem: byId("problem").hidden ? null : byId("problem").textContent,
  json: byId("json").textContent,
  command: byId("command").textContent,
  summary: byId("summary").textContent,
  texts: [...document.querySelectorAll("#sections .value, #sections td, #sections th, #sections .muted, #sections .warning")]
    .map((each) => each.textContent),
});
"""

# Every element with words of its own: how far they stand out from what is behind them.
CONTRAST = """
(() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const behind = (element) => {
    for (; element; element = element.parentElement) {
      const colour = parse(getComputedStyle(element).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!element.checkVisibility() || ["SCRIPT", "STYLE", "NOSCRIPT", "OPTION"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    if (own && !element.disabled) {
      const colour = parse(element instanceof SVGElement ? style.fill : style.color);
      found.push([ratio(colour, behind(element)), 4.5, element.tagName + " " + element.textContent.slice(0, 40)]);
    }
    if (element.classList.contains("area")) found.push([ratio(parse(style.fill), behind(element)), 3, "area of the chart"]);
  }
  return found;
})()
"""


def size(*arguments, cwd=ROOT):
    return subprocess.run([CAIRN, "size", *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False)


def random_question(draw):
    """Values of some inputs: mostly sensible, sometimes what the estimator must refuse."""
    wrong = draw.random() < 0.15
    values = {}
    if draw.random() < 0.9:
        values["context"] = draw.choice([0, 1, draw.randrange(1, 200), draw.randrange(1, 1 << 20), 1 << 30])
    if draw.random() < 0.7:
        values["batch"] = draw.choice([1, draw.randrange(1, 100), draw.randrange(1, 1_000_001)])
    if draw.random() < 0.4:
        values["shared-prefix"] = draw.choice([0, draw.randrange(1, 300), draw.randrange(1, 1 << 20)])
    for side in ("cache-type-k", "cache-type-v"):
        if draw.random() < 0.5:
            values[side] = draw.choice(["f32", "f16", "bf16", "f8_e4m3", "i8"])
    for flag in ("tp", "pp", "dp", "ep"):
        if draw.random() < 0.3:
            values[flag] = draw.choice([1, 2, 2, 3, 4])
    if draw.random() < 0.4:
        values["gpu"] = draw.choice(["H100 SXM", "A100 80GB SXM", "RTX 4090", "MI300X"])
        values["gpu-count"] = draw.choice([1, 2, 8])
    if draw.random() < 0.3:
        values["weights-dtype"] = draw.choice(["bf16", "f8_e4m3", "f32"])
    if draw.random() < 0.2:
        values["memory-fraction"] = draw.choice([0.5, 0.85, 1])
    if wrong:
        values |= draw.choice([{"context": (1 << 30) + 1}, {"context": -1}, {"batch": 0}, {"batch": 1_000_001}, {"tp": 0},
                               {"pp": 99}, {"dcp": 3, "tp": 2}, {"cache-type-k": "q8_0"}, {"cache-type-v": "q4_0"}])
    return values


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.browser = cls.enterClassContext(chromium.Chromium())

    def tearDown(self):
        self.browser.prefer("light")
        self.browser.size_window(1280, 900)

    def open(self, model, *flags, fragment=""):
        """Writes and opens the model's page; returns what is seen when it has answered."""
        path = self.folder / "page.html"
        written = size(model, *flags, "--html", path)
        self.assertEqual(written.returncode, 0, written.stderr)
        self.browser.open(path, fragment)
        return self.do("await until(() => answers() > 0); return seen();")

    def do(self, body):
        seen = self.browser.evaluate(f"(async () => {{ {HELPERS} {body} }})()")
        self.assertEqual(self.browser.problems, [])
        self.assertEqual(self.browser.requests, [])
        return seen

    def ask(self, values):
        return self.do(f"""return after(() => {{
          for (const [id, value] of Object.entries({json.dumps(values)})) set(id, value);
        }});""")

    def assert_equals_program(self, seen, cwd=ROOT):
        """What the page shows is what its own command line prints: every number, or the error."""
        command = shlex.split(seen["command"])
        self.assertEqual(command[:2], ["cairn", "size"])
        run = size(*command[2:], "--json", cwd=cwd)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(seen["json"], run.stdout)
        markdown = size(*command[2:], "--markdown", "--full", "--explain", cwd=cwd).stdout.replace("\\", "")
        for text in seen["texts"]:
            self.assertIn(text.replace("\\", "").strip(), markdown)

    def assert_refused_alike(self, seen, values, model):
        flags = []
        card = values.get("gpu", "")
        for flag, value in values.items():
            if flag == "gpu-count":
                continue
            if flag == "gpu" and values.get("gpu-count", 1) > 1:
                value = f"{card} x {values['gpu-count']}"
            flags += [f"--{flag}={value}"]
        run = size(model, *flags)
        self.assertEqual(run.returncode, 2, f"{flags}: the page says {seen['problem']}")
        self.assertEqual(seen["problem"], run.stderr.rstrip("\n"))

    def test_every_number_at_random_questions_is_the_programs(self):
        draw = random.Random(20)
        goldens = draw.sample(GOLDENS, min(PAGES, len(GOLDENS)))
        answered = refused = 0
        for golden in goldens:
            model = golden.relative_to(ROOT)
            self.open(model)
            unanswered = None
            for _ in range(-(-QUESTIONS // len(goldens))):
                values = random_question(draw)
                reset = {"context": "", "batch": 1, "shared-prefix": 0, "cache-type-k": "f16", "cache-type-v": "f16",
                         "tp": 1, "pp": 1, "dp": 1, "ep": 1, "dcp": 1, "gpu": "", "gpu-count": 1, "weights-dtype": "",
                         "memory-fraction": 0.9}
                with self.subTest(model=str(model), values=values, after=unanswered):
                    seen = self.ask({**reset, **values})
                    if seen["problem"] is None:
                        answered += 1
                        self.assert_equals_program(seen)
                    else:
                        refused += 1
                        self.assert_refused_alike(seen, values, model)
        self.assertGreaterEqual(answered, 50)
        self.assertGreaterEqual(refused, 5)

    def test_the_page_starts_with_the_command_lines_question(self):
        flags = ["--context", "100,3000", "--batch", 7, "--kv-dtype", "bf16", "--tp", 2, "--shared-prefix", 5]
        model = pathlib.Path("tests/golden/gemma3_text")
        seen = self.open(model, *flags)
        self.assertEqual(seen["json"], size(model, *flags, "--json").stdout)
        self.assert_equals_program(seen)
        inputs = self.do("return ['context', 'batch', 'cache-type-k', 'tp', 'shared-prefix'].map((id) => byId(id).value);")
        self.assertEqual(inputs, ["3000", "7", "bf16", "2", "5"])

    def test_a_mix_of_requests_is_kept_until_it_is_dropped(self):
        mix = self.folder / "mix.txt"
        mix.write_text("3 x 100\n5\n")
        model = pathlib.Path("tests/golden/llama_gqa")
        seen = self.open(model, "--requests", mix)
        self.assertEqual(seen["json"], size(model, "--requests", mix, "--json").stdout)
        self.assertEqual(self.do("return [byId('mix').hidden, byId('context').disabled];"), [False, True])
        seen = self.do("return after(() => byId('mix-off').click());")
        self.assert_equals_program(seen)
        self.assertEqual(json.loads(seen["json"])["sizes"][0]["batch"], 1)

    def test_sliders_move_numbers_and_numbers_move_sliders(self):
        self.open("tests/golden/llama_gqa")
        for slider, step, value in (("context", 0, "0"), ("context", 81, "1024"), ("context", 85, "1536"),
                                    ("batch", 0, "1"), ("batch", 25, "8"), ("memory-fraction", 55, "0.55")):
            seen = self.do(f"return after(() => set('{slider}-slider', {step}));")
            self.assertEqual(self.do(f"return byId('{slider}').value;"), value)
            self.assert_equals_program(seen)
            self.do(f"return after(() => set('{slider}', {value}));")
            self.assertEqual(self.do(f"return byId('{slider}-slider').value;"), str(max(step, 1 if slider == "batch" else 0)))

    def test_the_chart_is_the_programs_state_at_each_context(self):
        self.open("tests/golden/gemma3_text", "--batch", 3, "--context", 200)
        rows = self.do("return [...document.querySelectorAll('#curve-table tbody tr')]"
                       ".map((row) => [...row.cells].map((cell) => Number(cell.textContent.replaceAll(',', ''))));")
        contexts = [row[0] for row in rows]
        self.assertEqual(contexts, sorted(set(contexts)))
        self.assertTrue({0, 8, 200, 512} <= set(contexts), contexts)  # 8 is its window
        run = size("tests/golden/gemma3_text", "--batch", 3, "--context", ",".join(map(str, contexts)), "--json")
        report = json.loads(run.stdout)
        for i, row in enumerate(rows):
            self.assertEqual(row[1:], [layer["sizes"][i]["total_bytes"] for layer in report["layers"]]
                             + [report["sizes"][i]["total_bytes"]])
        self.assertEqual(self.do("return document.querySelectorAll('#curve-chart .area').length;"), len(report["layers"]))

    def test_a_link_repeats_the_question(self):
        self.open("tests/golden/llama_gqa")
        seen = self.ask({"context": 77, "batch": 5, "cache-type-v": "f32"})
        fragment = self.do("return location.hash;")
        again = self.open("tests/golden/llama_gqa", fragment=fragment)
        self.assertEqual(again["json"], seen["json"])
        self.assertIsNone(self.open("tests/golden/llama_gqa", fragment="#%7Bnonsense")["problem"])

    def test_another_config_is_sized_by_paste_file_and_drop(self):
        self.open("tests/golden/llama_gqa")
        config = (ROOT / "tests/golden/gemma2/config.json").read_text()
        (self.folder / "config.json").write_text(config)
        expected = size("config.json", "--json", cwd=self.folder).stdout
        pasted = self.do(f"return after(() => {{ byId('config-text').value = {json.dumps(config)}; byId('config-use').click(); }});")
        self.assertEqual(pasted["json"], expected)
        self.assert_equals_program(pasted, self.folder)
        back = self.do("return after(() => byId('config-reset').click());")
        self.assertEqual(json.loads(back["json"])["model"], "tests/golden/llama_gqa")
        dropped = self.do(f"""return after(() => {{
          const files = new DataTransfer();
          files.items.add(new File([{json.dumps(config)}], "config.json"));
          document.body.dispatchEvent(new DragEvent("drop", {{ dataTransfer: files, bubbles: true, cancelable: true }}));
        }});""")
        self.assertEqual(dropped["json"], expected)

    def test_a_model_of_the_catalogue_is_sized_by_name(self):
        self.open("tests/golden/llama_gqa")
        seen = self.do("""return after(() => {
          byId("catalogue").value = "meta-llama/Llama-2-7b-hf";
          byId("catalogue").dispatchEvent(new Event("change"));
        });""")
        report = json.loads(seen["json"])
        self.assertEqual(report["bytes_per_token"], 2 * 32 * 32 * 128 * 2)
        self.assertEqual([each["tokens"] for each in report["sizes"]], [4096])
        self.assertEqual(seen["command"], "cairn size meta-llama/Llama-2-7b-hf --context 4096"[: len(seen["command"])])

    def test_a_gguf_file_is_sized_in_the_page(self):
        files = sorted(ROOT.glob("models/*.gguf"))
        self.assertTrue(files, "`make models` brings the models")
        for file in files:
            model = file.relative_to(ROOT)
            seen = self.open(model, "--context", 3000)
            self.assertEqual(seen["json"], size(model, "--context", 3000, "--json").stdout)
            self.assert_equals_program(self.ask({"context": 70000, "batch": 3, "cache-type-k": "q8_0", "tp": 2}))
            self.assertLess((self.folder / "page.html").stat().st_size, 1 << 20)

    def test_a_malformed_config_is_the_programs_one_line(self):
        self.open("tests/golden/llama_gqa")
        good = (ROOT / "tests/golden/llama_gqa/config.json").read_text()
        broken = ["", "{", "[]", "{}", "nul\0l", good[: len(good) // 2], '{"model_type": "lama"}', '{"model_type": "bert"}',
                  good.replace('"num_hidden_layers": 5', '"num_hidden_layers": 600'), "[" * 100, '{"a": 1e999}', "\u00e9{"]
        for config in broken:
            with self.subTest(config=config[:40]):
                (self.folder / "config.json").write_bytes(config.encode("utf-8", "replace"))
                expected = size("config.json", cwd=self.folder)
                if config == "":  # an empty file is refused before it is read as JSON
                    continue
                seen = self.do(f"return after(() => {{ byId('config-text').value = {json.dumps(config)}; byId('config-use').click(); }});")
                self.assertEqual(expected.returncode, 2)
                self.assertEqual(seen["problem"], expected.stderr.rstrip("\n"))
                self.assertTrue(self.do("return byId('answers').hidden;"))
        self.assertIsNone(self.do("return after(() => byId('config-reset').click());")["problem"])

    def test_a_fault_in_the_estimator_is_told_and_survived(self):
        self.open("tests/golden/llama_gqa")
        answers = self.do("""const estimator = await Estimator.load();
          const fault = estimator.call("no_such_function");
          return [fault, estimator.choices({}).codecs.includes("f16"), estimator.size(3, {}, false)];""")
        self.assertTrue(answers[0]["error"].startswith("the estimator failed: "))
        self.assertTrue(answers[1])
        self.assertTrue(answers[2]["error"].startswith("the model's description: "))

    def test_nothing_is_wider_than_a_phone(self):
        for model in ("tests/golden/gemma3_text", "tests/golden/smollm3"):
            for width in (360, 1280):
                self.browser.size_window(width, 800)
                self.open(model, "--tp", 2, "--gpu", "H100 SXM")
                self.do("for (const each of document.querySelectorAll('details')) each.open = true;")
                self.ask({"context": 123456789, "batch": 999999})
                self.assertLessEqual(self.do("return document.documentElement.scrollWidth;"), width)
                self.ask({"context": (1 << 30) + 1})
                self.assertLessEqual(self.do("return document.documentElement.scrollWidth;"), width)

    def test_words_stand_out_in_light_and_dark(self):
        for scheme in ("light", "dark"):
            self.browser.prefer(scheme)
            self.open("tests/golden/gemma3_text", "--context", 9999, "--gpu", "H100 SXM")
            self.do("return after(() => set('explain', true));")
            self.do("for (const each of document.querySelectorAll('details')) each.open = true;")
            found = self.browser.evaluate(CONTRAST)
            self.assertGreater(len(found), 60)
            self.assertEqual([each for each in found if each[0] < each[1]], [], scheme)
            self.ask({"batch": 0})
            self.assertEqual([each for each in self.browser.evaluate(CONTRAST) if each[0] < each[1]], [], scheme)
        grounds = []
        for scheme in ("light", "dark"):
            self.browser.prefer(scheme)
            grounds.append(self.browser.evaluate("getComputedStyle(document.body).backgroundColor"))
        self.assertNotEqual(*grounds)

    def test_every_control_has_a_name_and_the_keyboard_reaches_it(self):
        self.open("tests/golden/gemma3_text", "--gpu", "H100 SXM")
        self.do("for (const each of document.querySelectorAll('details')) each.open = true;")
        self.browser.call("Accessibility.enable")
        roles = {"textbox", "spinbutton", "slider", "combobox", "button", "checkbox", "image", "img", "region", "table"}
        nodes = [node for node in self.browser.call("Accessibility.getFullAXTree")["nodes"]
                 if not node.get("ignored") and node.get("role", {}).get("value") in roles]
        self.assertGreater(len(nodes), 20)
        unnamed = [node for node in nodes if not node.get("name", {}).get("value") and node["role"]["value"] != "table"]
        self.assertEqual(unnamed, [])
        reached = set()
        for _ in range(60):
            self.browser.press("Tab")
            reached.add(self.browser.evaluate("document.activeElement.id"))
        controls = set(self.do("return [...document.querySelectorAll('input, select, textarea, button')]"
                               ".filter((each) => each.checkVisibility() && !each.disabled).map((each) => each.id);"))
        self.assertEqual(controls - reached, set())
        self.do("byId('context-slider').focus();")
        before = self.do("return [byId('context').value, answers()];")
        self.browser.press("ArrowLeft")
        seen = self.do(f"await until(() => answers() > {before[1]}); return seen();")
        self.assertLess(int(self.do("return byId('context').value;")), int(before[0]))
        self.assert_equals_program(seen)

    def test_the_page_names_no_other_place_and_forbids_all(self):
        self.open("tests/golden/llama_gqa")
        text = (self.folder / "page.html").read_text()
        self.assertIn("default-src 'none'", text)
        self.assertNotIn("://", text.replace("http://www.w3.org/2000/svg", ""))
        with self.assertRaises(RuntimeError):
            self.browser.evaluate("fetch('https://example.org/')")
        self.browser.problems, self.browser.requests = [], []

    def test_a_path_with_markup_stays_words(self):
        folder = self.folder / "<img src=x onerror=alert(1)>'&"
        folder.mkdir()
        (folder / "config.json").write_text((ROOT / "tests/golden/llama_gqa/config.json").read_text())
        seen = self.open(folder)
        self.assertEqual(self.do("return byId('name').textContent;"), str(folder))
        self.assertEqual(self.do("return document.images.length;"), 0)
        self.assert_equals_program(seen)


if __name__ == "__main__":
    unittest.main()
