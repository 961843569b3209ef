#!/usr/bin/env python3
"""The examples run against a server, and leave nothing behind. $CAIRN is the program."""

import os
import re
import subprocess
import sys
import unittest

from serve_process import MODEL, ROOT, Server

sys.path.insert(0, str(ROOT / "examples"))
sys.path.insert(0, str(ROOT / "build" / "python"))
import best_of_n  # noqa: E402


class CalculatorTest(unittest.TestCase):
    def test_it_takes_the_given_numbers_once_and_nothing_else(self):
        self.assertEqual(best_of_n.calculate("(50 + 7) * 3 - 8", [3, 7, 8, 50]), (163, None))
        for wrong in ("7 * 7", "9 + 3", "7 / 3", "2 ** 3", "__import__('os')", "", "7 +", "-7", "7.0", "(" * 500 + "7" + ")" * 500):
            value, problem = best_of_n.calculate(wrong, [3, 7])
            self.assertIsNone(value, wrong)
            self.assertTrue(problem, wrong)


@unittest.skipUnless(MODEL.exists(), f"{MODEL.name} is absent, `make models` brings it")
class BestOfNTest(unittest.TestCase):
    def run_example(self, server, *flags):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "build" / "python")}
        return subprocess.run([sys.executable, ROOT / "examples" / "best_of_n.py", "--url", server.url, *flags], env=environment,
                              capture_output=True, text=True, timeout=300)

    def test_forks_share_the_instruction_and_all_is_released(self):
        server = Server()
        try:
            ran = self.run_example(server, "--branches", "3", "--rounds", "2")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            instruction = int(re.search(r"the instruction: (\d+) tokens", ran.stdout)[1])
            self.assertGreater(instruction, 400)
            asked, cached = (int(count.replace(",", "")) for count in re.search(
                r"tokens of prompts: ([\d,]+), of which ([\d,]+)", ran.stdout).groups())
            answers = len(re.findall(r"^ +(?:off by|refused)", ran.stdout, re.MULTILINE))
            self.assertIn(answers, (3, 6))
            self.assertGreaterEqual(cached, answers * instruction)
            self.assertGreater(asked, cached)
            own, alone = (int(count.replace(",", "")) for count in re.search(
                r"took ([\d,]+) bytes of their own; without sharing they would take ([\d,]+)", ran.stdout).groups())
            self.assertLess(own, alone / 2)
            _, state = server.ask_json("/state")
            self.assertEqual((state["contexts"]["count"], state["contexts"]["pinned_bytes"]), (0, 0))
            self.assertEqual(state["occupancy"]["live_bytes"], 0)  # forgotten
        finally:
            server.stop()

    def test_without_a_server_it_says_so(self):
        server = Server()
        server.stop()
        ran = self.run_example(server)
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn(server.url, ran.stderr)
        self.assertNotIn("Traceback", ran.stderr)


if __name__ == "__main__":
    unittest.main()
