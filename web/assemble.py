#!/usr/bin/env python3
"""web/assemble.py PAGE OUT.html [ESTIMATOR.wasm]: one file out of web/PAGE/, web/shared/ and the estimator.

The styles, the scripts and the estimator (gzip, base64) are put where index.html names them. The page
may run only these scripts: its security policy lists their hashes. What the estimator's page leaves to
fill in, the model and the question, is the marker @CAIRN_DATA@ (cairn/sizing/page.cc).
"""

import base64
import gzip
import hashlib
import pathlib
import sys

WEB = pathlib.Path(__file__).resolve().parent
SCRIPTS = {
    "estimator": ("estimator.js", "controls.js", "../shared/drawing.js", "charts.js", "report.js", "page.js"),
    "serve": ("../shared/drawing.js", "server.js", "chat.js", "state_history.js", "state.js", "page.js"),
}
STYLES = ("../shared/theme.css", "style.css")


def policy_hash(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def put(page, marker, text):
    if page.count(marker) != 1:
        sys.exit(f"assemble: {marker} must stand once in index.html, it stands {page.count(marker)} times")
    return page.replace(marker, text)


def assemble(folder, scripts, wasm):
    style = "\n" + "".join((folder / name).read_text() for name in STYLES)
    script = '\n"use strict";\n' + "".join((folder / name).read_text() for name in scripts)
    for name, text in (("the styles", style), ("the scripts", script)):
        if "</" in text or "<!--" in text:
            sys.exit(f"assemble: {name} must not contain '</' or '<!--'; they would end the element")
    page = (folder / "index.html").read_text()
    page = put(page, "@SCRIPT_HASH@", policy_hash(script))
    page = put(page, "@STYLE_HASH@", policy_hash(style))
    page = put(page, "@STYLE@", style)
    page = put(page, "@SCRIPT@", script)
    if wasm is None:
        return page
    return put(page, "@ESTIMATOR@", base64.b64encode(gzip.compress(wasm, compresslevel=9, mtime=0)).decode())


if __name__ == "__main__":
    name, out, *estimator = sys.argv[1:]
    wasm_bytes = pathlib.Path(estimator[0]).read_bytes() if estimator else None
    pathlib.Path(out).write_text(assemble(WEB / name, SCRIPTS[name], wasm_bytes))
