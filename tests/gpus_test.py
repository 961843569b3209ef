#!/usr/bin/env python3
"""`cairn gpus`: every format shows the same devices and links; unknown names end with code 2."""

import csv
import json
import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))


def gpus(*arguments):
    return subprocess.run([CAIRN, "gpus", *arguments], capture_output=True, text=True, timeout=60)


class GpusTest(unittest.TestCase):
    def test_json_has_a_source_for_every_device_and_link(self):
        answer = json.loads(gpus("--json").stdout)
        devices = answer["gpus"]["devices"]
        self.assertGreater(len(devices), 50)
        links = {link["name"]: link for link in answer["links"]["links"]}
        for device in devices:
            self.assertTrue(device["source"], device)
            self.assertGreater(device["bandwidth_bytes_per_second"], 0, device)
            self.assertIn(device["link"], links, device)
        for link in links.values():
            self.assertTrue(link["source"], link)
            self.assertGreater(link["read_bytes_per_second"], 0, link)

    def test_every_format_shows_every_device(self):
        names = [device["name"] for device in json.loads(gpus("--json").stdout)["gpus"]["devices"]]
        rows = list(csv.reader(gpus("--csv").stdout.splitlines()))
        cells = {cell for row in rows for cell in row}
        markdown = gpus("--markdown").stdout
        for name in names:
            self.assertIn(name, cells)
            self.assertIn(f"| {name} |", markdown)
        text = gpus().stdout
        self.assertIn("H100 SXM", text)
        self.assertIn("source 1: ", text)
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 140)

    def test_named_devices_are_shown_alone_with_their_links(self):
        answer = json.loads(gpus("--json", "h100x8", "MI300X").stdout)
        self.assertEqual([d["name"] for d in answer["gpus"]["devices"]], ["H100 SXM", "MI300X"])
        self.assertEqual(
            [link["name"] for link in answer["links"]["links"]], ["pcie5", "nvlink4", "if-mi300"]
        )

    def test_words_may_stand_in_any_order(self):
        answer = json.loads(gpus("--json", "A100 SXM 80GB").stdout)
        self.assertEqual([d["name"] for d in answer["gpus"]["devices"]], ["A100 80GB SXM"])

    def test_the_text_says_how_far_sources_were_checked(self):
        text = " ".join(gpus().stdout.split())
        self.assertIn('one "as quoted elsewhere" was compared with copies', text)

    def test_an_unknown_name_ends_with_code_2_and_a_hint_on_one_line(self):
        run = gpus("H1000")
        self.assertEqual(run.returncode, 2)
        self.assertEqual(run.stdout, "")
        self.assertEqual(run.stderr.count("\n"), 1)
        self.assertIn("H100 SXM", run.stderr)


if __name__ == "__main__":
    unittest.main()
