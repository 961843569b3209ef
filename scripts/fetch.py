"""What scripts/models.py and scripts/tokenizers.py share: fetching a package through its registry's own
client, checking its SHA-256, and never leaving a half-written file under a final name."""

import contextlib
import dataclasses
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHUNK_BYTES = 1 << 20
ATTEMPTS = 3


class Failure(Exception):
    """One line for the user: what failed and what to do."""


@dataclasses.dataclass(frozen=True)
class Package:
    """A package file of a registry. `client` is "pip" (a wheel), "pip-sdist" (a source package) or "npm"."""

    client: str
    name: str
    version: str
    sha256: str

    @property
    def file(self):
        if self.client == "npm":
            return f"{self.name.removeprefix('@').replace('/', '-')}-{self.version}.tgz"
        suffix = ".tar.gz" if self.client == "pip-sdist" else "-py3-none-any.whl"
        return f"{self.name.replace('-', '_')}-{self.version}{suffix}"

    def __str__(self):
        return f"{self.name}{'@' if self.client == 'npm' else '=='}{self.version}"


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(CHUNK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def pip_command():
    """A python with pip: this one, else the system's."""
    for python in (sys.executable, "/usr/bin/python3"):
        probe = subprocess.run([python, "-m", "pip", "--version"], capture_output=True)
        if probe.returncode == 0:
            return [python, "-m", "pip"]
    raise Failure("no python3 with pip; install Debian's python3-pip")


def client_command(package, folder):
    if package.client == "npm":
        if not shutil.which("npm"):
            raise Failure("no npm; install Debian's npm")
        return ["npm", "pack", "--loglevel=error", "--pack-destination", str(folder), str(package)]
    only = "--no-binary" if package.client == "pip-sdist" else "--only-binary"
    return pip_command() + [
        *("download", "--quiet", "--retries", "2", "--no-deps", "--no-cache-dir", only, ":all:"),
        *("--dest", str(folder), str(package)),
    ]


def reason(output):
    """What went wrong, out of a client's many lines: the system's own words, else the client's last error."""
    told = re.findall(r"(?:new connection: |reason: )([^'\n]+)|(\[Errno \d+\] [^':\n]+)", output)
    errors = re.findall(r"^(?:npm )?error:? (.+)$", output, re.MULTILINE | re.IGNORECASE)
    return ("".join(told[0]) if told else errors[-1] if errors else "").strip()


def client_fetch(package, folder):
    """Has the registry's client put the package's file into `folder`."""
    done = subprocess.run(
        client_command(package, folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode != 0:
        raise Failure(reason(done.stderr) or f"{package.client} ended with code {done.returncode}")


def ensure_package(package, downloads, fetch=client_fetch):
    """The path of the verified package file; fetched unless it is already here and whole."""
    kept = downloads / package.file
    if kept.exists():
        if sha256_of(kept) == package.sha256:
            return kept
        kept.unlink()
    incoming = downloads / "incoming"
    problem = ""
    for _ in range(ATTEMPTS):
        shutil.rmtree(incoming, ignore_errors=True)
        incoming.mkdir(parents=True)
        try:
            fetch(package, incoming)
            arrived = incoming / package.file
            if not arrived.exists():
                problem = f"{package.client} brought no file named {package.file}"
            elif (found := sha256_of(arrived)) != package.sha256:
                problem = f"its SHA-256 is {found}, not {package.sha256}"
            else:
                os.replace(arrived, kept)
                return kept
        except Failure as failure:
            problem = str(failure)
        finally:
            shutil.rmtree(incoming, ignore_errors=True)
    raise Failure(f"package {package} did not arrive: {problem}; check the network and try again, what is whole is kept")


def write_verified(chunks, sha256, target, scratch):
    """Writes `chunks` to `target`, which appears only if the bytes' SHA-256 is right."""
    partial = scratch / (target.name + ".partial")
    digest = hashlib.sha256()
    with open(partial, "wb") as out:
        for chunk in chunks:
            digest.update(chunk)
            out.write(chunk)
        out.flush()
        os.fsync(out.fileno())
    if digest.hexdigest() != sha256:
        partial.unlink()
        raise Failure(f"{target.name} came out with SHA-256 {digest.hexdigest()}, not {sha256}; please report this")
    os.replace(partial, target)


def is_whole(path, sha256):
    """Whether the file is there and right; a damaged one is removed."""
    if not path.exists():
        return False
    if sha256_of(path) == sha256:
        return True
    path.unlink()
    return False


@contextlib.contextmanager
def download_folder(folder):
    """`folder`/.download, held by one process at a time: a second one waits, then finds the work done."""
    downloads = pathlib.Path(folder) / ".download"
    downloads.mkdir(parents=True, exist_ok=True)
    with open(downloads / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield downloads


@contextlib.contextmanager
def one_line_errors(program):
    """Turns what can go wrong outside into one line on stderr and exit code 1."""
    try:
        yield
    except Failure as failure:
        sys.exit(f"{program}: {failure}")
    except OSError as error:
        sys.exit(f"{program}: {error}; check the disk and try again, what is whole is kept")
    except KeyboardInterrupt:
        sys.exit(f"{program}: interrupted; what is whole is kept, run it again to go on")
