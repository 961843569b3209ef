#!/usr/bin/env python3
"""bench/growth: fits find the laws that made the numbers, plots are well-formed, a small run works."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import fits  # noqa: E402
import growth_measure  # noqa: E402
import growth_report  # noqa: E402
import svg_plot  # noqa: E402

CAIRN = os.environ.get("CAIRN", str(ROOT / "build" / "cairn"))
SIZES = (512, 1024, 2048, 4096, 8192)


class FitsTest(unittest.TestCase):
    def test_a_power_law_is_found_and_its_error_is_none(self):
        law = fits.power_law([(n, 3e-4 * n**1.25) for n in SIZES])
        self.assertAlmostEqual(law.exponent, 1.25)
        self.assertAlmostEqual(law.factor, 3e-4)
        self.assertAlmostEqual(law.error, 0)

    def test_the_error_is_the_largest_share_by_which_a_point_is_off(self):
        points = [(1, 1.0), (2, 2.0), (4, 4.0), (8, 16.0)]
        law = fits.power_law(points)
        self.assertAlmostEqual(law.error, max(abs(law(n) / cost - 1) for n, cost in points))
        self.assertGreater(law.error, 0.2)

    def test_a_parabola_is_found_over_decades(self):
        truth = (0.02, 1e-3, 4e-8)
        points = [(n, truth[0] + truth[1] * n + truth[2] * n * n) for n in (*SIZES, 32768)]
        curve = fits.polynomial(points, 2)
        for found, made in zip(curve.coefficients, truth):
            self.assertAlmostEqual(found / made, 1, places=4)
        self.assertAlmostEqual(sum(curve.shares(4096)), 1)

    def test_no_term_is_negative_where_the_data_bend_the_other_way(self):
        points = [(n, n**0.5) for n in SIZES]
        curve = fits.polynomial(points, 2)
        self.assertGreaterEqual(min(curve.coefficients), 0)
        line = fits.polynomial([(n, 5.0) for n in SIZES], 1)
        self.assertAlmostEqual(line.coefficients[0], 5)

    def test_depth_zero_is_a_point_like_any_other(self):
        line = fits.polynomial([(0, 2.0), (100, 3.0), (200, 4.0)], 1)
        self.assertAlmostEqual(line.coefficients[0], 2)
        self.assertAlmostEqual(line.coefficients[1], 0.01)

    def test_exponents_between_neighbours_show_where_the_law_changes(self):
        self.assertEqual([round(e, 6) for e in fits.local_exponents([(1, 1), (2, 2), (4, 8)])], [1, 2])

    def test_equations_without_a_single_solution_have_none(self):
        self.assertIsNone(fits.solve([[1, 1], [2, 2]], [1, 2]))
        self.assertEqual(fits.solve([[0, 2], [3, 0]], [4, 6]), [2, 2])


class PlotTest(unittest.TestCase):
    def test_every_point_is_drawn_inside_the_frame_and_words_are_escaped(self):
        points = [(n, 0.9 * n, float(n), 1.1 * n) for n in SIZES]
        svg = svg_plot.log_log("a < b", "x", "y", [svg_plot.Series("one & two", points, lambda n: n)])
        root = xml.etree.ElementTree.fromstring(svg)
        dots = [e for e in root.iter("{http://www.w3.org/2000/svg}circle") if e.get("r") == "3"]
        self.assertEqual(len(dots), len(points))
        for dot in dots:
            self.assertTrue(svg_plot.LEFT <= float(dot.get("cx")) <= svg_plot.WIDTH)
            self.assertTrue(0 <= float(dot.get("cy")) <= svg_plot.HEIGHT - svg_plot.BOTTOM)
        heights = [float(dot.get("cy")) for dot in dots]
        self.assertEqual(heights, sorted(heights, reverse=True))

    def test_equal_values_still_have_an_axis(self):
        axis = svg_plot.LogAxis([3.0, 3.0], 0, 100)
        self.assertAlmostEqual(axis.pixel(3.0), 50)
        self.assertTrue(axis.ticks())


class PlanTest(unittest.TestCase):
    def test_doublings_end_where_they_must(self):
        self.assertEqual(growth_measure.doublings(512, 8192), [512, 1024, 2048, 4096, 8192])
        self.assertEqual(growth_measure.doublings(512, 3000), [512, 1024, 2048, 3000])
        self.assertEqual(growth_measure.doublings(5, 5), [5])


class RunTest(unittest.TestCase):
    def run_growth(self, folder, *arguments):
        command = [sys.executable, str(ROOT / "bench" / "growth"), "--cairn", CAIRN, "--docs", folder, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    def test_a_small_run_writes_a_page_whose_predictions_hold(self):
        model = ROOT / "tests" / "golden" / "llama_gqa"
        with tempfile.TemporaryDirectory() as folder:
            saved = pathlib.Path(folder) / "saved.json"
            done = self.run_growth(folder, "-m", str(model), "-r", "1", "-n", "2", "--longest", "512", "--sequences", "4",
                                   "--sequence-tokens", "48", "--json", str(saved), "--write")  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            page = (pathlib.Path(folder) / "performance.md").read_text()
            self.assertIn("### llama_gqa", page)
            self.assertNotIn(str(ROOT), page)
            self.assertIn("| yes |", page)
            self.assertNotIn("| NO |", page)
            xml.etree.ElementTree.fromstring((pathlib.Path(folder) / "performance_memory.svg").read_text())
            data = json.loads(saved.read_text())
            self.assertEqual([row["sequences"] for row in data["results"][0]["memory"]], [1, 2, 4])
            again = self.run_growth(folder, "--from", str(saved))
            self.assertEqual(again.stdout, page)

    def test_what_is_missing_is_said_in_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_growth(folder, "-m", folder)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1)
        self.assertIn("growth:", done.stderr)


if __name__ == "__main__":
    unittest.main()
