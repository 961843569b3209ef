"""What bench/growth's measurements say: fits, tables, plots. Pure functions of the measurements, but for
machine()."""

import fits
import svg_plot
import versus_results

PLOTS = {"prompt": "performance_prompt.svg", "answer": "performance_answer.svg", "memory": "performance_memory.svg"}


def machine():
    return {**versus_results.machine(), "commit": versus_results.cairn_version()}


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---:|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def spread(row, factor, digits):
    middle, low, high = (f"{row[key] * factor:,.{digits}f}" for key in ("median", "low", "high"))
    return f"{middle} ({low} - {high})"


def percent(share):
    return f"{100 * share:.0f} %"


def terms_text(fit, n, names):
    """The parts of a polynomial at n: "61 % grows with the tokens, 38 % with their square"."""
    parts = [f"{percent(share)} {name}" for share, name in zip(fit.shares(n), names) if share >= 0.005]
    return ", ".join(parts)


def exponents(points):
    return ["-", *(f"{e:.2f}" for e in fits.local_exponents(points))]


def prompt_section(rows):
    points = [(row["tokens"], row["median"]) for row in rows]
    heads = ("tokens", "ms: median (lowest - highest)", "tokens/s", "exponent since the last row")
    cells = [
        (f"{row['tokens']:,}", spread(row, 1e3, 1), f"{row['tokens'] / row['median']:,.1f}", exponent)
        for row, exponent in zip(rows, exponents(points))
    ]
    text = table(heads, cells)
    if len(points) >= 2:
        law = fits.power_law(points)
        text += f"\ntime = {law.factor:.3g} s x tokens^{law.exponent:.3f} (off by {percent(law.error)} at most)."
    if len(points) >= 4:
        curve = fits.polynomial(points, 2)
        a, b, c = curve.coefficients
        last = points[-1][0]
        names = ("is there for any prompt", "grows with the tokens", "with their square")
        text += (
            f" time = {a:.3g} + {b:.3g} n + {c:.3g} n^2 s (off by {percent(curve.error)} at most); "
            f"at {last:,} tokens {terms_text(curve, last, names)}."
        )
    return text + "\n"


def answer_section(rows):
    each = [{**row, **{key: row[key] / row["tokens"] for key in ("median", "low", "high")}} for row in rows]
    points = [(row["depth"], row["median"]) for row in each]
    heads = ("tokens before", "ms a token: median (lowest - highest)", "tokens/s")
    cells = [(f"{row['depth']:,}", spread(row, 1e3, 2), f"{1 / row['median']:,.1f}") for row in each]
    text = table(heads, cells)
    deep = [(depth, time) for depth, time in points if depth > 0]
    if len(deep) >= 2:
        law = fits.power_law(deep)
        text += f"\ntime = {law.factor:.3g} s x depth^{law.exponent:.3f} (off by {percent(law.error)} at most)."
    if len(points) >= 3:
        line = fits.polynomial(points, 1)
        last = points[-1][0]
        names = ("is there without a context", "grows with it")
        text += (
            f" time = {line.coefficients[0]:.3g} + {line.coefficients[1]:.3g} depth s (off by "
            f"{percent(line.error)} at most); after {last:,} tokens {terms_text(line, last, names)}."
        )
    return text + "\n"


def memory_section(rows):
    heads = ("sequences", "predicted bytes", "live bytes in the state", "predicted = live", "resident in the process")
    cells = [
        (
            f"{row['sequences']:,}",
            f"{row['predicted_bytes']:,}",
            f"{row['live_bytes']:,}",
            "yes" if row["predicted_bytes"] == row["live_bytes"] else "NO",
            f"{row['resident_bytes']:,}",
        )
        for row in rows
    ]
    text = f"Each sequence holds {rows[0]['tokens']:,} tokens.\n\n" + table(heads, cells)
    if len(rows) >= 2:
        live = fits.power_law([(row["sequences"], row["live_bytes"]) for row in rows])
        line = fits.polynomial([(row["sequences"], row["resident_bytes"]) for row in rows], 1)
        each = rows[0]["predicted_bytes"]
        text += (
            f"\nlive = {live.factor:,.0f} x sequences^{live.exponent:.3f}; resident = {line.coefficients[0]:,.0f} + "
            f"{line.coefficients[1]:,.0f} x sequences, which is {line.coefficients[1] / each:.2f} x the state of one.\n"
        )
    return text


def roofline_section(rows):
    heads = ("test", "part", "ms", "share of the time", "bound, ms", "reached", "target")
    cells = []
    for row in rows:
        limits, kind = row["roofline"], f"pp{row['n_prompt']}" if row["n_prompt"] else f"tg{row['n_gen']}"
        name = f"{kind} @ d{row['n_depth']}" if row["n_depth"] else kind
        for part in limits["parts"]:
            target = ""
            if "target" in part:
                target = f">= {percent(part['target'])}: {'met' if part['met'] else 'missed'}"
            share = part["time_us"] / limits["elapsed_us"]
            cells.append((name, part["name"], f"{part['time_us'] / 1e3:,.2f}", percent(share),
                          f"{part['bound_us'] / 1e3:,.2f}", percent(part["share"]), target))  # fmt: skip
    machine_limits = rows[0]["roofline"]["limits"]
    rates = [
        f"{name} {machine_limits[key]['best'] / 1e9:,.1f} {unit} (median {machine_limits[key]['median'] / 1e9:,.1f})"
        for name, key, unit in (
            ("reads memory at", "memory_bytes_per_second", "GB/s"),
            ("multiplies int8 at", "int8_operations_per_second", "Gop/s"),
            ("bf16 at", "bf16_operations_per_second", "Gop/s"),
            ("f32 at", "f32_operations_per_second", "Gop/s"),
        )
    ]
    return f"The machine {', '.join(rates)}.\n\n" + table(heads, cells)


def plot(results, kind, title, x_label, y_label, points_of, fit):
    series = []
    for result in results:
        points = points_of(result)
        if len(points) >= 2:
            line = fit([(point[0], point[2]) for point in points])
            series.append(svg_plot.Series(result["model"], points, line))
    return {PLOTS[kind]: svg_plot.log_log(title, x_label, y_label, series)} if series else {}


def plots(data):
    results = data["results"]
    prompt = lambda r: [(p["tokens"], p["low"], p["median"], p["high"]) for p in r["prompts"]]  # noqa: E731
    answer = lambda r: [  # noqa: E731
        (p["depth"], *(1e3 * p[key] / p["tokens"] for key in ("low", "median", "high")))
        for p in r["answers"]
        if p["depth"] > 0
    ]
    memory = lambda r: [(p["sequences"], *([p["live_bytes"] / 2**20] * 3)) for p in r["memory"]]  # noqa: E731
    curve = lambda points: fits.polynomial(points, min(2, len(points) - 1))  # noqa: E731
    line = lambda points: fits.polynomial(points, 1)  # noqa: E731
    return {
        **plot(results, "prompt", "Time to read a prompt", "tokens", "seconds", prompt, curve),
        **plot(results, "answer", "Time for a token of the answer", "tokens before", "milliseconds", answer, line),
        **plot(results, "memory", "State of all sequences", "sequences", "MiB", memory, line),
    }


HEADER = """# Performance

How Cairn's costs grow with the prompt, with the context and with the number of sequences, and what share of the
machine's limits it reaches. This page is written by `bench/growth --write`; speed beside other programs is measured by
`make bench`. Times are medians with the lowest and the highest of all repetitions; state is stored as f16.
"""

READING = """An exponent of 1 means that twice the tokens take twice the time. A prompt's products grow with its tokens, its
attention with their square, so the exponent rises towards 2 as attention takes over; layers whose attention sees a window
only stay at 1.
"""


def render(data):
    """(the page, {file name: SVG}) of what bench/growth measured."""
    threads = data["threads"]
    about = ", ".join(f"{key} {value}" for key, value in data["machine"].items())
    svgs = plots(data)
    pictures = lambda kind, words: f"![{words}]({PLOTS[kind]})\n\n" if PLOTS[kind] in svgs else ""  # noqa: E731
    text = f"{HEADER}\nMachine: {about}. {threads} {'thread' if threads == 1 else 'threads'}.\n"
    text += f"Command: `{data['command']}`.\n\n## Prompt time\n\n{READING}\n"
    text += pictures("prompt", "Time to read a prompt over its tokens")
    sections = (
        ("", "prompts", prompt_section),
        ("## Answer time\n\n" + pictures("answer", "Time for a token over the tokens before it"), "answers", answer_section),
        ("## Memory\n\n" + pictures("memory", "State over sequences"), "memory", memory_section),
        ("## The machine's limits\n\nThe bound of a part is its operations at the machine's peak or its bytes at the "
         "machine's bandwidth, whichever takes longer (`cairn bench --roofline`).\n\n", "roofline", roofline_section),
    )  # fmt: skip
    for head, key, section in sections:
        text += head
        for result in data["results"]:
            text += f"### {result['model']}\n\n{section(result[key])}\n"
    text += "## Commands\n\n"
    for result in data["results"]:
        text += "".join(f"    {command}\n" for command in result["commands"])
    return text, svgs
