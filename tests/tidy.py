#!/usr/bin/env python3
"""The project's rules as a test: which layer may include which, where third-party headers may stand,
how long files and functions may be, which names are banned and what to use instead, and formatting.

    tests/tidy.py               check every file that git knows or would add
    tests/tidy.py PATH...       check these

ARCHITECTURE.md tells the reasons. A rule yields (path, line, message).
"""

import pathlib
import re
import shutil
import subprocess
import sys

import tidy_cpp

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Folder of cairn/: the other folders that it may include. CMakeLists.txt must say the same.
LAYERS = {
    "base": set(),
    "spec": {"base"},
    "kernels": {"base"},
    "policies": {"base"},
    "text": {"base"},
    "sizing": {"base", "spec"},
    "weights": {"base", "spec", "kernels"},
    "state": {"base", "spec", "kernels"},
    "models": {"base", "spec", "kernels", "policies", "weights", "state"},
    "engine": {"base", "spec", "policies", "state", "models"},
    "serve": {"base", "text", "policies", "engine", "sizing"},
    "eval": {"base", "spec", "text", "models", "engine", "sizing"},
    "cluster": {"base", "spec", "state", "engine", "serve"},
    "sim": {"base", "spec", "sizing", "state", "engine", "cluster", "models"},
}
# (from, to): the only headers of `to` that `from` may see. Tests of `from` may see all of `to`.
NARROW = {
    ("models", "state"): {"cairn/state/state_view.h"},
    ("engine", "models"): {"cairn/models/model.h"},
    ("sim", "models"): {"cairn/models/toy_model.h"},
}

# Third-party header (a prefix): where it may be included.
THIRD_PARTY = {
    "hwy/": r"cairn/kernels/",
    "nlohmann/": r"(cairn|tools|tests|web)/.*\.cc$",
    "CLI/": r"tools/",
    "fmt/": r"",
    "openssl/": r"cairn/base/.*\.cc$",
    "xxhash.h": r"cairn/base/",
    "hiredis/": r"cairn/state/redis_\w*\.cc$",
    "boost/": r"cairn/serve/http_(server|parser)\.cc$",
    "prometheus/": r"cairn/serve/metrics\w*\.cc$",
    "doctest/": r".*(_test\.cc|_for_tests\.(h|cc)|/test_main\.cc)$|tests/",
    "benchmark/": r".*_bench\.cc$",
    "llama.h": r"bench/",
    "ggml.h": r"bench/",
    "rocksdb/": r"bench/",
}
# The system's own headers: base is the only door to the outside; a program may mind its signals.
SYSTEM_HEADER = re.compile(r"(sys|netinet|arpa|linux)/\w+\.h|(unistd|fcntl|malloc|pthread|poll|signal|sched|spawn|dirent|termios|netdb)\.h")
SYSTEM_HEADER_PLACES = re.compile(r"cairn/base/|tools/|tests/|.*(_(test|fuzz|bench)\.cc|_for_tests\.h)$")

FILE_LINES_LIMIT = 500
FILE_LINES_WARNING = 250
FUNCTION_LINES_LIMIT = 70
COLUMNS_LIMIT = 100
# "path:function": lines. Functions that were too long when the rule came; entries may shrink or go, not come.
LONG_FUNCTIONS = {}

# Pattern, where it is banned (paths), what to do instead. Matched against code without comments and literals.
EVERYWHERE, LIBRARIES, PRODUCT, ABOVE_BASE = r"", r"cairn/", r"(cairn|tools)/(?!.*_(test|fuzz|bench)\.cc$)", r"cairn/(?!base/)"
PRODUCT_LIBRARIES = r"cairn/(?!.*_(test|fuzz|bench)\.cc$)(?!.*/test_main\.cc$)"
BANNED = (
    (r"\bstd::(shared_ptr|make_shared)\b", EVERYWHERE, "one owner: std::unique_ptr or a value; a shared one needs an ADR"),
    (r"\bstd::regex\b|#include <regex>", EVERYWHERE, "a small parser, or rust/text"),
    (r"\bstd::(cout|cerr|clog)\b", LIBRARIES, "return text or a Status; programs in tools/ print"),
    (r"\bstd::endl\b", EVERYWHERE, r"'\n'"),
    (r"(?<![\w.>])(std::)?(time|rand|srand|gettimeofday|clock_gettime)\s*\(", ABOVE_BASE, "Env's clock and random numbers"),
    (r"\bstd::random_device\b", EVERYWHERE, "Env's random numbers"),
    (r"\b(system|steady|high_resolution)_clock::now\b", r"cairn/(?!base/)(?!.*_(test|bench)\.cc$)", "Env's clock"),
    (r"\bstd::(j?thread|async)\b", r"cairn/(?!base/)(?!.*_test\.cc$)", "ThreadPool"),
    # A unique_ptr of a class whose constructor is private can't be made otherwise.
    (r"(?m)^(?!.*\bunique_ptr<).*(?<!operator )\bnew\b(?!\s*\()", PRODUCT, "std::make_unique or a container"),
    (r"(?<!= )(?<!operator )\bdelete\b", PRODUCT, "std::unique_ptr or a container"),
    (r"\busing\s+namespace\b(?!\s+(std::)?(string_view_|chrono_)?literals\b)", EVERYWHERE, "qualified names"),
    (r"(?<![\w:])assert\s*\(", EVERYWHERE, "CAIRN_CHECK or CAIRN_DCHECK"),
    (r"\b(std::)?(abort|_?exit|quick_exit)\s*\(", r"cairn/(?!base/)", "a Status to the caller, or CAIRN_CHECK"),
    (r"\bthrow\b", PRODUCT_LIBRARIES, "Result<T> for the outside world, CAIRN_CHECK for our own mistakes"),
    (r"#\s*pragma\s+once", EVERYWHERE, "a header guard that spells the path"),
    (r"\btypedef\b", EVERYWHERE, "using"),
)
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
# Preprocessor conditions choose behaviour out of sight. Kernels need them for Highway, base for the machine.
CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b", re.MULTILINE)
CONDITION_PLACES = re.compile(r"cairn/(kernels|base)/")

# Sources without a test of their own (a pattern): why.
UNTESTED = {
    r"cairn/models/\w+\.cc": "tests/golden_test.cc runs whole models against a reference implementation",
    r"cairn/engine/recompute\.cc": "tests/golden_tiers_test.cc recomputes what whole models have stored",
    r"cairn/kernels/(pack_stripe|packed_matrix)\.cc": "matmul_test.cc multiplies packed matrices of every format",
    r"cairn/kernels/quantized_block\.cc": "dequantize_test.cc reads blocks of every format",
}

PRIVATE_NAMES = re.compile(
    r"/work/|/root/|/home/\w|\bpypi\.org|pythonhosted\.org|static\.crates\.io|index\.crates\.io"
    r"|registry\.npmjs\.org|deb\.debian\.org|proxy\.golang\.org|repo1?\.maven\.org"
)
# Data and other people's words; and the two files that must spell what is banned.
UNREAD = re.compile(r"tests/(corpora|golden\w*|real)/|.*\.(lock|safetensors|gguf|png|bin)$|LICENSE$|tests/tidy(_test)?\.py$")
CPP = re.compile(r".*\.(h|cc)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def layer_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "cairn" and len(parts) == 3 else None


def is_test_code(path):
    return re.search(r"(_(test|fuzz|bench)\.cc|_for_tests\.(h|cc)|/test_main\.cc)$", path) is not None


def edge_problem(path, header):
    """Why `path` may not include the project's `header`, or None."""
    here, there = layer_of(path), layer_of(header)
    if here is None and header.split("/")[0] in ("tools", "tests", "web", "bench"):
        return None
    if there is None:
        return 'our own headers are included from the root: #include "cairn/<folder>/<file>.h"'
    if header.endswith("_for_tests.h") and not is_test_code(path) and not path.startswith(("tests/", "bench/")):
        return "helpers for tests are for tests and bench/"
    if here is None or here == there:
        return None
    if there not in LAYERS.get(here, set()):
        allowed = ", ".join(sorted(LAYERS.get(here, set()))) or "nothing"
        return f"{here} may not include {there}; it may include {allowed} (ARCHITECTURE.md)"
    only = NARROW.get((here, there))
    if only and header not in only and not is_test_code(path):
        return f"{here} may include of {there} only {', '.join(sorted(only))}"
    return None


def third_party_problem(path, header):
    if "/" not in header and not header.endswith((".h", ".hpp")):
        return None  # the C++ standard library
    if re.fullmatch(r"\w*intrin\.h", header):
        return "SIMD goes through Highway"
    if SYSTEM_HEADER.fullmatch(header):
        return None if SYSTEM_HEADER_PLACES.match(path) else "system calls live in cairn/base; use Env"
    for prefix, places in THIRD_PARTY.items():
        if header.startswith(prefix):
            return None if re.match(places, path) else f"{prefix} may be included only in {places}"
    return "this library is in no one's list; add it to THIRD_PARTY in tests/tidy.py with its place, and an ADR"


def check_includes(path, text):
    for match in INCLUDE.finditer(text):
        quote, header = match.groups()
        ours = quote == '"' and not header.startswith(tuple(THIRD_PARTY))
        problem = edge_problem(path, header) if ours else third_party_problem(path, header)
        if problem:
            yield path, line_of(text, match.start()), f"#include of {header}: {problem}"


def check_length(path, text):
    lines = text.count("\n")
    if lines > FILE_LINES_LIMIT:
        yield path, lines, f"{lines} lines; the limit is {FILE_LINES_LIMIT}: split it by what a reader looks for"
    for function in tidy_cpp.functions(text) if CPP.match(path) else ():
        allowed = max(FUNCTION_LINES_LIMIT, LONG_FUNCTIONS.get(f"{path}:{function.name}", 0))
        if function.lines > allowed:
            yield path, function.line, f"{function.name} has {function.lines} lines; the limit is {allowed}"


def check_ratchet(files):
    """An entry of LONG_FUNCTIONS must still be needed, to the line."""
    for entry, recorded in LONG_FUNCTIONS.items():
        path, name = entry.split(":", 1)
        longest = max((f.lines for f in tidy_cpp.functions(files.get(path, "")) if f.name == name), default=0)
        if longest < recorded:
            what = f"set it to {longest}" if longest > FUNCTION_LINES_LIMIT else "remove it"
            yield "tests/tidy.py", 1, f"LONG_FUNCTIONS[{entry!r}] is {recorded}, the function has {longest} lines: {what}"


def check_banned(path, text):
    code = tidy_cpp.code_only(text)
    for pattern, places, instead in BANNED:
        if re.match(places, path):
            for match in re.finditer(pattern, code):
                yield path, line_of(text, match.start()), f"`{match.group().strip()}` is banned; instead: {instead}"
    if not CONDITION_PLACES.match(path):
        for match in CONDITION.finditer(code):
            if guard_of(path) not in text[match.start() : text.find("\n", match.end())]:
                yield path, line_of(text, match.start()), "conditional compilation; choose at run time or in CMake"


def guard_of(path):
    return "CAIRN_" + re.sub(r"[^A-Z0-9]", "_", path.removeprefix("cairn/").upper()) + "_"


def check_guard(path, text):
    if not path.endswith(".h") or path.endswith("-inl.h"):  # those are included once per SIMD target
        return
    guard = guard_of(path)
    if f"#ifndef {guard}\n#define {guard}\n" not in text or not text.endswith(f"#endif  // {guard}\n"):
        yield path, 1, f"the header guard must be {guard}"


def check_text(path, text):
    if UNREAD.match(path):
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if "\r" in line:
            yield path, number, "carriage return; lines end with a line feed alone"
        if "\t" in line and not path.endswith("Makefile"):
            yield path, number, "tab; indent with spaces"
        if line.rstrip("\r") != line.rstrip() and not path.endswith(".md"):
            yield path, number, "space at the end of the line"
        if CPP.match(path) and len(line) > COLUMNS_LIMIT and "://" not in line:
            yield path, number, f"{len(line)} columns; the limit is {COLUMNS_LIMIT}"
        if found := UNFINISHED.search(line):
            yield path, number, f"{found.group()}: finish it, or leave it out"
        if found := PRIVATE_NAMES.search(line):
            yield path, number, f"{found.group()}: paths of one machine and registry hosts don't belong in the project"
    if text and not text.endswith("\n"):
        yield path, text.count("\n") + 1, "no line feed at the end of the file"


def check_tested(files):
    """Every .cc has a test: x_test.cc, or for x_y.cc also that of x.cc."""
    for path in files:
        if layer_of(path) is None or not path.endswith(".cc") or is_test_code(path):
            continue
        stem = path.removesuffix(".cc")
        words = stem.split("_")
        tests = {"_".join(words[:count]) + "_test.cc" for count in range(1, len(words) + 1)}
        if tests.isdisjoint(files) and not any(re.fullmatch(pattern, path) for pattern in UNTESTED):
            yield path, 1, f"no {stem}_test.cc; write one, or give the reason in UNTESTED of tests/tidy.py"
    for pattern in UNTESTED:
        if not any(re.fullmatch(pattern, path) for path in files):
            yield "tests/tidy.py", 1, f"UNTESTED names {pattern}, which fits no file"


def check_build(files):
    """Every folder of cairn/ is a cairn_module() with the DEPENDS of LAYERS; every fuzzer keeps a corpus;
    no two tests have one name, by which the sanitizers' steps choose."""
    modules = dict(re.findall(r"^\s*cairn_module\((\w+)([^)]*)\)", files.get("CMakeLists.txt", ""), re.MULTILINE))
    for path in files:
        folder = layer_of(path)
        if path.startswith("cairn/") and folder is None:
            yield path, 1, "cairn/ has one level of folders, with files in them"
        elif folder and folder not in modules:
            yield path, 1, f"{folder} is not a cairn_module() of CMakeLists.txt, so this file is never built"
        unit_tests = {"folders_test", *(f"{folder}_test" for folder in LAYERS)}
        if re.fullmatch(r"tests/\w+_test\.py", path) and pathlib.PurePath(path).stem in unit_tests:
            yield path, 1, "a unit test program has this name, too; ctest would take one for the other"
        if path.endswith("_fuzz.cc"):
            corpus = f"tests/corpora/{pathlib.PurePath(path).stem}/"
            if not any(other.startswith(corpus) for other in files):
                yield path, 1, f"no inputs in {corpus}; keep the ones that matter"
    for folder, arguments in modules.items():
        depends = re.search(r"DEPENDS((?:\s+[a-z]+)*)", arguments)
        if set(depends.group(1).split() if depends else ()) != LAYERS.get(folder):
            yield "CMakeLists.txt", 1, f"cairn_module({folder}) and LAYERS in tests/tidy.py name different folders"


def check_files(files):
    """All problems of a tree given as {path: text}, formatting aside."""
    for path, text in files.items():
        yield from check_text(path, text)
        if CPP.match(path):
            yield from check_includes(path, text)
            yield from check_banned(path, text)
            yield from check_guard(path, text)
        if (CPP.match(path) or path.endswith((".py", ".rs"))) and not UNREAD.match(path):
            yield from check_length(path, text)
    yield from check_ratchet(files)
    yield from check_tested(files)
    yield from check_build(files)


def check_format(paths):
    """clang-format's verdict on the C++ files of the work tree."""
    sources = [path for path in paths if CPP.match(path)]
    if not sources or not shutil.which("clang-format-19"):
        if sources:
            yield "packages.apt", 1, "clang-format-19 is not installed; run scripts/install.sh test"
        return
    done = subprocess.run(
        ["clang-format-19", "--dry-run", "-Werror", *sources], cwd=ROOT, capture_output=True, text=True
    )
    for match in re.finditer(r"^([^:\n]+):(\d+):\d+: error: code should be", done.stderr, re.MULTILINE):
        yield match.group(1), int(match.group(2)), "not formatted; run `make format`"


def tree():
    """{path: text} of every file that git tracks or would add; bytes that aren't UTF-8 become marks."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    paths = sorted(path for path in set(listed.stdout.split("\0")) if path and (ROOT / path).is_file())
    return {path: (ROOT / path).read_bytes().decode("utf-8", "replace") for path in paths}


def main(only):
    files = tree()
    problems = sorted({*check_files(files), *check_format(files)})
    if only:
        problems = [problem for problem in problems if problem[0] in only]
    for path, line, message in problems:
        print(f"{path}:{line}: {message}")
    for path, text in files.items():
        if CPP.match(path) and text.count("\n") > FILE_LINES_WARNING and (not only or path in only):
            print(f"note: {path} has {text.count(chr(10))} lines; aim for {FILE_LINES_WARNING}")
    print(f"tidy: {len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(set(sys.argv[1:])))
