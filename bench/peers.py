"""Builds or finds the programs that Cairn is measured beside, all under build/peers/.

llama.cpp comes from the source package that llama-cpp-python ships, pinned by SHA-256. Beside its own
programs there is llamacpp_worker (llamacpp_worker.cc), linked to the same library.
"""

import functools
import os
import pathlib
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import fetch  # noqa: E402

PEERS = ROOT / "build" / "peers"
LLAMACPP_PACKAGE = fetch.Package(
    "pip-sdist",
    "llama-cpp-python",
    "0.3.36",
    "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e",
)
PROGRAMS = ("llama-bench", "llama-batched-bench", "llama-perplexity", "llama-server")
# A stock build for this machine: what `cmake -B build` gives a llama.cpp user, less the parts that
# have nothing to do with speed. clang-19 compiles Cairn, and made llama.cpp 2-12 % faster at one thread
# than g++ 12 did on a Zen 5 machine, so it is the compiler by default.
COMPILERS = {"clang": ("clang-19", "clang++-19"), "gcc": ("gcc", "g++")}
CMAKE_OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DGGML_NATIVE=ON",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_SERVER=ON",
    "-DLLAMA_BUILD_APP=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DLLAMA_BUILD_IS_DEV=OFF",
)
WORKER_SOURCES = [ROOT / "bench" / name for name in ("llamacpp_worker.cc", "llamacpp_state.h")]
OPENVINO_REQUIREMENTS = ROOT / "bench" / "openvino_requirements.txt"
AIPERF_REQUIREMENTS = ROOT / "bench" / "aiperf_requirements.txt"


class LlamaCpp:
    """llama.cpp in `folder`, built with `compiler`; ensure() makes what is missing."""

    def __init__(self, compiler="clang", folder=PEERS):
        self.compiler, self.folder = compiler, folder
        self.source = folder / f"llama_cpp_python-{LLAMACPP_PACKAGE.version}" / "vendor" / "llama.cpp"
        self.build = folder / f"llamacpp-{compiler}"
        self.worker = self.build / "bin" / "llamacpp_worker"
        self.server = self.build / "bin" / "llama-server"
        self.states = folder / "states"

    def __str__(self):
        return f"llama.cpp of {LLAMACPP_PACKAGE} built with {self.compiler}"

    def ensure(self, say):
        if not all((self.build / "bin" / program).exists() for program in PROGRAMS):
            say("fetching and building llama.cpp (some minutes, once)")
            self._build_programs()
        if not self.worker.exists() or self.worker.stat().st_mtime < max(source.stat().st_mtime for source in WORKER_SOURCES):
            say("building llamacpp_worker")
            self._build_worker()
        self.states.mkdir(exist_ok=True)

    def _build_programs(self):
        cc, cxx = COMPILERS[self.compiler]
        options = [*CMAKE_OPTIONS, f"-DCMAKE_C_COMPILER={cc}", f"-DCMAKE_CXX_COMPILER={cxx}"]
        with fetch.download_folder(self.folder) as downloads:
            if not (self.source / "CMakeLists.txt").exists():
                with tarfile.open(fetch.ensure_package(LLAMACPP_PACKAGE, downloads)) as archive:
                    archive.extractall(self.folder)  # the bytes were verified above
            jobs = f"-j{os.cpu_count() or 1}"
            self._run("cmake", "-S", self.source, "-B", self.build, "-G", "Ninja", *options)
            self._run("ninja", "-C", self.build, jobs, *PROGRAMS)

    def _build_worker(self):
        libraries = self.build / "bin"
        includes = [f"-I{ROOT}", *(f"-isystem{self.source / part}" for part in ("include", "ggml/include"))]
        linked = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", *("-lllama", "-lggml", "-lggml-cpu", "-lggml-base")]
        partial = self.worker.with_suffix(".partial")
        self._run(COMPILERS[self.compiler][1], "-std=c++20", "-O2", "-Wall", "-Wextra", *includes, WORKER_SOURCES[0],
                  *linked, "-o", partial)  # fmt: skip
        os.replace(partial, self.worker)

    def _run(self, *command):
        log_path = self.folder / f"{self.build.name}.log"
        with open(log_path, "w") as log:
            if subprocess.run([str(part) for part in command], stdout=log, stderr=log).returncode != 0:
                raise fetch.Failure(f"{command[0]} failed; its output is in {log_path}")

    def worker_command(self, model, state, flash_attn):
        """One process: this model with keys and values stored as `state`. A state at a depth depends on
        all that its file's name tells."""
        command = [str(self.worker), str(model), state, state, str(flash_attn)]
        command.append(self._states(model, state, flash_attn))
        return command if state == "f16" or not flash_attn else [*command, self._states(model, "f16", flash_attn)]

    def _states(self, model, state, flash_attn):
        key = f"{model.stem}-{_digest(model)[:12]}-{state}-fa{flash_attn}-{LLAMACPP_PACKAGE.version}"
        return str(self.states / key)


class VirtualEnvironment:
    """Packages of PyPI, as a list pins them, in a Python of their own."""

    def __init__(self, folder, requirements, what):
        self.folder, self._requirements, self._what = folder, requirements, what
        self.python = folder / "bin" / "python"

    def ensure(self, say):
        done = self.folder / "installed.txt"
        if done.exists() and done.read_text() == self._requirements.read_text():
            return
        say(f"installing {self._what} (some minutes, once)")
        log_path = self.folder.with_suffix(".log")
        install = [str(self.python), "-m", "pip", "install", "--quiet", "-r", str(self._requirements)]
        with open(log_path, "w") as log:
            for command in ([sys.executable, "-m", "venv", str(self.folder)], install):
                if subprocess.run(command, stdout=log, stderr=log).returncode != 0:
                    raise fetch.Failure(f"`{' '.join(command)}` failed; its output is in {log_path}")
        done.write_text(self._requirements.read_text())


class OpenVino(VirtualEnvironment):
    """OpenVINO GenAI."""

    def __init__(self, folder=PEERS):
        super().__init__(folder / "openvino", OPENVINO_REQUIREMENTS, "OpenVINO GenAI")

    def __str__(self):
        return ", ".join(line for line in OPENVINO_REQUIREMENTS.read_text().splitlines() if line[:1].isalpha())

    def worker_command(self, model, threads):
        return [str(self.python), str(ROOT / "bench" / "openvino_worker.py"), str(model), str(threads)]

    def serve_command(self, model, threads, cache_gib):
        return [str(self.python), str(ROOT / "bench" / "openvino_serve_worker.py"), *map(str, (model, threads, cache_gib))]


class AiPerf(VirtualEnvironment):
    """NVIDIA's load generator."""

    def __init__(self, folder=PEERS):
        super().__init__(folder / "aiperf", AIPERF_REQUIREMENTS, "AIPerf")
        self.program = self.folder / "bin" / "aiperf"

    def __str__(self):
        return next(line for line in AIPERF_REQUIREMENTS.read_text().splitlines() if line.startswith("aiperf=="))


@functools.cache
def _digest(path):
    return fetch.sha256_of(path)
