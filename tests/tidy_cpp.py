"""What tests/tidy.py needs to know of C++ text: code without comments and literals, and where functions
begin and end. A scanner, not a parser: enough for code in this project's format."""

import re
from typing import NamedTuple

_LITERAL_OR_COMMENT = re.compile(
    r"""
    //[^\n]*
    | /\*.*?\*/
    | R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)"
    | "(?:\\.|[^"\\\n])*"
    | (?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_SCOPE = re.compile(r"(template\s*<.*>\s*)?(inline\s+)?(namespace|class|struct|union|enum|extern)\b", re.DOTALL)
# What may stand between a parameter list and the body.
_SIGNATURE_END = re.compile(
    r"\s*(const|noexcept|override|final|mutable|&&?|->[^{};=]*|requires\b[^;]*|\s)*(:.*\}|,\s*\w+\{.*\})?\s*", re.DOTALL
)
_NAME = re.compile(r"([~\w:]+|operator\S+)\s*\(")


def _spaces(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def _blank(match):
    """The match's text with everything but line ends (and a literal's quotes) turned into spaces."""
    text = match.group(0)
    blank = _spaces(match)
    return '"' + blank[1:-1] + '"' if text[-1] == '"' and len(text) >= 2 else blank


def code_only(text):
    """`text` with comments and the insides of literals blanked; offsets and line numbers stay."""
    return _LITERAL_OR_COMMENT.sub(_blank, text)


class Function(NamedTuple):
    name: str
    line: int  # of its signature, from 1
    lines: int


def _is_function(header):
    if "(" not in header or ")" not in header:
        return False
    return _SIGNATURE_END.fullmatch(header[header.rindex(")") + 1 :]) is not None


def functions(text):
    """The outermost functions of a file, tests included; lambdas belong to the function around them."""
    code = _DIRECTIVE.sub(_spaces, code_only(text))
    found = []
    open_braces = []  # kind, and for a function its header and where that begins
    declaration_start = 0
    for match in re.finditer(r"[{};]", code):
        at, mark = match.start(), match.group()
        outside = all(kind == "scope" for kind, _, _ in open_braces)
        if mark == "{":
            header = code[declaration_start:at].strip()
            if not outside:
                kind = "inner"
            elif _SCOPE.match(header):
                kind = "scope"
            else:
                kind = "function" if _is_function(header) else "initializer"
            open_braces.append((kind, header, code.find(header, declaration_start)))
            if kind == "scope":
                declaration_start = at + 1
        elif mark == "}" and open_braces:
            kind, header, start = open_braces.pop()
            if kind == "function":
                name = _NAME.search(header)
                first, last = code.count("\n", 0, start) + 1, code.count("\n", 0, at) + 1
                found.append(Function(name.group(1) if name else header, first, last - first + 1))
            if kind in ("function", "scope"):  # an initializer's declaration goes on to its semicolon or body
                declaration_start = at + 1
        elif mark == ";" and outside:
            declaration_start = at + 1
    return found
