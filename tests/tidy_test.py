#!/usr/bin/env python3
"""tests/tidy.py must flag what it forbids and leave alone what it allows."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tidy  # noqa: E402
import tidy_cpp  # noqa: E402


def messages(path, text, rule):
    return [f"{where}:{line}: {message}" for where, line, message in rule(path, text)]


class IncludesTest(unittest.TestCase):
    def flags(self, path, header, expected):
        found = messages(path, f"#include {header}\n", tidy.check_includes)
        self.assertEqual(len(found), 1, f"{path} includes {header}: {found}")
        self.assertIn(expected, found[0])

    def allows(self, path, header):
        self.assertEqual(messages(path, f"#include {header}\n", tidy.check_includes), [])

    def test_a_layer_may_not_include_a_layer_above(self):
        self.flags("cairn/base/hash.h", '"cairn/spec/model_spec.h"', "base may not include spec")
        self.flags("cairn/kernels/matmul.cc", '"cairn/state/state_view.h"', "kernels may not include state")
        self.flags("cairn/sizing/report.cc", '"cairn/kernels/matmul.h"', "sizing may not include kernels")
        self.flags("cairn/state/arena_test.cc", '"cairn/engine/engine.h"', "state may not include engine")

    def test_a_layer_may_include_itself_and_what_the_table_says(self):
        self.allows("cairn/spec/rope.cc", '"cairn/base/status.h"')
        self.allows("cairn/state/arena.cc", '"cairn/state/arena.h"')
        self.allows("tools/run.cc", '"cairn/engine/engine.h"')
        self.allows("tools/run.cc", '"tools/commands.h"')

    def test_models_see_only_the_view_of_the_state(self):
        self.allows("cairn/models/decoder.cc", '"cairn/state/state_view.h"')
        self.flags("cairn/models/decoder.cc", '"cairn/state/arena.h"', "only cairn/state/state_view.h")
        self.allows("cairn/models/decoder_test.cc", '"cairn/state/arena.h"')

    def test_the_engine_sees_only_one_header_of_models(self):
        self.allows("cairn/engine/engine.cc", '"cairn/models/model.h"')
        self.flags("cairn/engine/engine.cc", '"cairn/models/llama.h"', "only cairn/models/model.h")

    def test_own_headers_are_included_from_the_root(self):
        self.flags("cairn/spec/rope.cc", '"rope.h"', "from the root")
        self.flags("cairn/spec/rope.cc", '"../base/status.h"', "from the root")

    def test_test_helpers_stay_in_tests(self):
        self.flags("cairn/spec/rope.cc", '"cairn/spec/state_spec_for_tests.h"', "for tests")
        self.allows("cairn/spec/rope_test.cc", '"cairn/spec/state_spec_for_tests.h"')

    def test_third_party_headers_have_their_places(self):
        self.allows("cairn/kernels/ops.cc", '"hwy/highway.h"')
        self.flags("cairn/models/decoder.cc", "<hwy/highway.h>", "hwy/")
        self.allows("cairn/spec/hf_config.cc", "<nlohmann/json.hpp>")
        self.flags("cairn/spec/hf_config.h", "<nlohmann/json.hpp>", "nlohmann/")
        self.flags("cairn/engine/engine.cc", "<CLI/CLI.hpp>", "tools/")
        self.allows("tools/run.cc", "<CLI/CLI.hpp>")
        self.allows("cairn/base/status.h", "<fmt/core.h>")
        self.flags("cairn/base/status.cc", "<httplib.h>", "no one's list")
        self.flags("cairn/kernels/ops.cc", "<immintrin.h>", "Highway")

    def test_system_calls_go_through_base(self):
        self.allows("cairn/base/mapped_file.cc", "<sys/mman.h>")
        self.flags("cairn/weights/gguf.cc", "<sys/mman.h>", "Env")
        self.flags("cairn/weights/gguf.cc", "<unistd.h>", "Env")
        self.allows("cairn/weights/gguf.cc", "<cstdint>")


class BannedTest(unittest.TestCase):
    def flags(self, path, line, expected):
        found = messages(path, line + "\n", tidy.check_banned)
        self.assertEqual(len(found), 1, f"{line!r}: {found}")
        self.assertIn(expected, found[0])

    def allows(self, path, line):
        self.assertEqual(messages(path, line + "\n", tidy.check_banned), [])

    def test_each_banned_name_is_flagged_with_its_replacement(self):
        for line, expected in (
            ("std::shared_ptr<int> p;", "unique_ptr"),
            ("auto p = std::make_shared<int>(1);", "unique_ptr"),
            ("std::regex r(x);", "parser"),
            ("std::cout << 1;", "Status"),
            ("int64_t now = time(nullptr);", "Env"),
            ("int r = rand();", "Env"),
            ("std::random_device seed;", "Env"),
            ("auto t = std::chrono::steady_clock::now();", "Env"),
            ("std::thread t(f);", "ThreadPool"),
            ("int* p = new int[3];", "make_unique"),
            ("delete p;", "unique_ptr"),
            ("using namespace std;", "qualified"),
            ("assert(x);", "CAIRN_CHECK"),
            ("std::abort();", "Status"),
            ("exit(1);", "Status"),
            ("throw std::runtime_error(x);", "Result"),
            ("#pragma once", "guard"),
            ("typedef int T;", "using"),
        ):
            with self.subTest(line):
                self.flags("cairn/state/arena.cc", line, expected)

    def test_look_alikes_pass(self):
        for line in (
            "Arena(const Arena&) = delete;",
            "// a new block; delete the old one",
            'Fail("time() and rand() and std::cout");',
            "new (place) Block();",
            "return std::unique_ptr<Arena>(new Arena(options));",
            "int64_t wall_time(int x);",
            "request.time();",
            "using namespace std::string_view_literals;",
            "static_assert(sizeof(int) == 4);",
        ):
            with self.subTest(line):
                self.allows("cairn/state/arena.cc", line)

    def test_programs_may_print_and_exit(self):
        self.allows("tools/run.cc", "std::cout << 1; exit(2);")

    def test_base_is_the_door_to_clocks_and_threads(self):
        self.allows("cairn/base/env.cc", "clock_gettime(CLOCK_MONOTONIC, &t); std::thread t(f);")

    def test_conditional_compilation_only_in_kernels_and_base(self):
        self.flags("cairn/engine/engine.cc", "#ifdef NDEBUG", "run time")
        self.allows("cairn/kernels/ops.cc", "#if HWY_ONCE")
        self.allows("cairn/engine/engine.h", "#ifndef CAIRN_ENGINE_ENGINE_H_")


class TextTest(unittest.TestCase):
    def flags(self, path, text, expected):
        found = messages(path, text, tidy.check_text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(expected, found[0])

    def test_bad_bytes_are_flagged(self):
        self.flags("cairn/a/b.cc", "int a;\r\n", "carriage return")
        self.flags("cairn/a/b.cc", "\tint a;\n", "tab")
        self.flags("cairn/a/b.cc", "int a; \n", "end of the line")
        self.flags("cairn/a/b.cc", "int a;", "no line feed")
        self.flags("cairn/a/b.cc", "// " + "x" * 98 + "\n", "columns")

    def test_unfinished_work_is_flagged(self):
        self.flags("cairn/a/b.cc", "// TODO(me): finish\n", "TODO")
        self.flags("README.md", "FIXME\n", "FIXME")

    def test_machine_paths_and_registry_hosts_are_flagged(self):
        self.flags("README.md", "see /root/notes\n", "/root/")
        self.flags("scripts/models.py", "url = 'https://pypi.org/x'\n", "pypi.org")

    def test_a_makefile_has_tabs(self):
        self.assertEqual(messages("Makefile", "run:\n\techo\n", tidy.check_text), [])

    def test_header_guards_spell_the_path(self):
        good = "#ifndef CAIRN_BASE_IDS_H_\n#define CAIRN_BASE_IDS_H_\nint a;\n#endif  // CAIRN_BASE_IDS_H_\n"
        self.assertEqual(messages("cairn/base/ids.h", good, tidy.check_guard), [])
        self.assertEqual(len(messages("cairn/spec/ids.h", good, tidy.check_guard)), 1)


class LengthTest(unittest.TestCase):
    def setUp(self):
        self.ratchet = dict(tidy.LONG_FUNCTIONS)

    def tearDown(self):
        tidy.LONG_FUNCTIONS.clear()
        tidy.LONG_FUNCTIONS.update(self.ratchet)

    @staticmethod
    def function(lines):
        return "void Long(int a) {\n" + "  a = 1;\n" * (lines - 2) + "}\n"

    def test_long_files_are_flagged(self):
        self.assertEqual(messages("a.py", "x\n" * 500, tidy.check_length), [])
        self.assertIn("501 lines", messages("a.py", "x\n" * 501, tidy.check_length)[0])

    def test_long_functions_are_flagged(self):
        self.assertEqual(messages("cairn/a/b.cc", self.function(70), tidy.check_length), [])
        self.assertIn("Long has 71 lines", messages("cairn/a/b.cc", self.function(71), tidy.check_length)[0])

    def test_a_recorded_function_may_stay_but_not_grow(self):
        tidy.LONG_FUNCTIONS["cairn/a/b.cc:Long"] = 80
        self.assertEqual(messages("cairn/a/b.cc", self.function(80), tidy.check_length), [])
        self.assertEqual(len(messages("cairn/a/b.cc", self.function(81), tidy.check_length)), 1)

    def test_the_record_only_shrinks(self):
        tidy.LONG_FUNCTIONS["cairn/a/b.cc:Long"] = 80
        self.assertEqual(list(tidy.check_ratchet({"cairn/a/b.cc": self.function(80)})), [])
        self.assertIn("set it to 75", list(tidy.check_ratchet({"cairn/a/b.cc": self.function(75)}))[0][2])
        self.assertIn("remove it", list(tidy.check_ratchet({"cairn/a/b.cc": self.function(20)}))[0][2])
        self.assertIn("remove it", list(tidy.check_ratchet({}))[0][2])


class TreeTest(unittest.TestCase):
    def test_a_source_without_a_test_is_flagged(self):
        found = [message for _, _, message in tidy.check_tested({"cairn/base/hash.cc": ""})]
        self.assertEqual(len([message for message in found if "hash_test.cc" in message]), 1)

    def test_a_test_of_the_whole_covers_its_parts(self):
        files = {"cairn/base/hash_table.cc": "", "cairn/base/hash_test.cc": ""}
        self.assertEqual([path for path, _, _ in tidy.check_tested(files) if path in files], [])

    def test_a_folder_outside_the_build_is_flagged(self):
        cmake = "cairn_module(base LIBRARIES fmt)\ncairn_module(spec DEPENDS base)\n"
        files = {"CMakeLists.txt": cmake, "cairn/spec/a_test.cc": "", "cairn/lost/b_test.cc": ""}
        self.assertEqual([path for path, _, _ in tidy.check_build(files)], ["cairn/lost/b_test.cc"])

    def test_cmake_and_the_table_must_agree(self):
        files = {"CMakeLists.txt": "cairn_module(spec DEPENDS base kernels LIBRARIES x)\n"}
        self.assertEqual([path for path, _, _ in tidy.check_build(files)], ["CMakeLists.txt"])

    def test_folders_do_not_nest(self):
        files = {"CMakeLists.txt": "cairn_module(base)\n", "cairn/base/inner/x.cc": ""}
        self.assertEqual([path for path, _, _ in tidy.check_build(files)], ["cairn/base/inner/x.cc"])

    def test_a_fuzzer_keeps_a_corpus(self):
        files = {"CMakeLists.txt": "cairn_module(base)\n", "cairn/base/x_fuzz.cc": ""}
        self.assertEqual(len(list(tidy.check_build(files))), 1)
        files["tests/corpora/x_fuzz/empty"] = ""
        self.assertEqual(list(tidy.check_build(files)), [])

    def test_a_python_test_has_not_the_name_of_a_unit_test_program(self):
        files = {"tests/base_test.py": "", "tests/folders_test.py": "", "tests/other_test.py": ""}
        self.assertEqual(
            [path for path, _, _ in tidy.check_build(files)], ["tests/base_test.py", "tests/folders_test.py"]
        )


class FunctionsTest(unittest.TestCase):
    def test_an_include_in_front_hides_nothing(self):
        text = '#include "cairn/a/b.h"\n\nnamespace a {\nvoid F() {\n}\n}\n'
        self.assertEqual([function.name for function in tidy_cpp.functions(text)], ["F"])

    def test_functions_are_found_and_other_braces_are_not(self):
        text = """
namespace a {
struct A : B<int> {
  A(int x) : a_{x}, b_(2), c_{3} {
    f("}", '{');  // }
  }
  int a_{1};
  template <class T>
  T* As() const noexcept { return {}; }
};
constexpr int kTable[] = {
    1,
};
TEST_CASE("a { b") {
  auto f = [&](int i) {
    return i;
  };
}
auto Long(int a, int b)
    -> std::vector<int> {
  const char* text = R"(
}}}
)";
  return {1'000};
}
#define M(x) \\
  void x() { \\
  }
}  // namespace a
"""
        found = [(function.name, function.line, function.lines) for function in tidy_cpp.functions(text)]
        self.assertEqual(found, [("A", 4, 3), ("As", 8, 2), ("TEST_CASE", 14, 5), ("Long", 19, 7)])


if __name__ == "__main__":
    unittest.main()
