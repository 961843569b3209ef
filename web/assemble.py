#!/usr/bin/env python3
"""web/assemble.py ESTIMATOR.wasm OUT.html: one file out of web/estimator/ and the estimator.

The styles, the scripts and the estimator (gzip, base64) are put where index.html names them. The page
may load nothing and run only these scripts: its security policy lists their hashes. What is left to
fill in, the model and the question, is the marker @CAIRN_DATA@ (cairn/sizing/page.cc).
"""

import base64
import gzip
import hashlib
import pathlib
import sys

PAGE = pathlib.Path(__file__).resolve().parent / "estimator"
SCRIPTS = ("estimator.js", "controls.js", "charts.js", "report.js", "page.js")


def policy_hash(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def put(page, marker, text):
    if page.count(marker) != 1:
        sys.exit(f"assemble: {marker} must stand once in index.html, it stands {page.count(marker)} times")
    return page.replace(marker, text)


def assemble(wasm):
    style = "\n" + (PAGE / "style.css").read_text()
    script = '\n"use strict";\n' + "".join((PAGE / name).read_text() for name in SCRIPTS)
    for name, text in (("style.css", style), ("the scripts", script)):
        if "</" in text or "<!--" in text:
            sys.exit(f"assemble: {name} must not contain '</' or '<!--'; they would end the element")
    packed = base64.b64encode(gzip.compress(wasm, compresslevel=9, mtime=0)).decode()
    page = (PAGE / "index.html").read_text()
    page = put(page, "@SCRIPT_HASH@", policy_hash(script))
    page = put(page, "@STYLE_HASH@", policy_hash(style))
    page = put(page, "@STYLE@", style)
    page = put(page, "@SCRIPT@", script)
    return put(page, "@ESTIMATOR@", packed)


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_text(assemble(pathlib.Path(sys.argv[1]).read_bytes()))
