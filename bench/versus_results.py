"""What samples say about a row: medians, spread, ratio, whether the target is met; as JSON and as a table."""

import json
import os
import pathlib
import platform
import statistics
import subprocess

import peers


def summary(samples):
    """Median, range and median absolute deviation."""
    median = statistics.median(samples)
    return {
        "median": median,
        "min": min(samples),
        "max": max(samples),
        "mad": statistics.median(abs(sample - median) for sample in samples),
        "samples": samples,
    }


def verdict(ours, peer, target, higher_is_better):
    """The ratio of the medians, the range of the ratios of one round each, and whether it will do."""
    ratio = statistics.median(ours) / statistics.median(peer)
    paired = [mine / theirs for mine, theirs in zip(ours, peer)]
    return {
        "ratio": ratio,
        "ratio_min": min(paired),
        "ratio_max": max(paired),
        "target": target,
        "better": "higher" if higher_is_better else "lower",
        "met": ratio >= target if higher_is_better else ratio <= target,
    }


def row_result(row, ours, peer, about):
    """The row's JSON. `ours` and `peer` are samples in the test's unit; `about` is added as it is."""
    return {
        "name": row.name,
        "model": row.model,
        "test": row.test.name,
        "threads": row.ours.threads,
        "depth": row.test.depth,
        "unit": row.test.unit,
        "ours": {"who": str(row.ours), **summary(ours)},
        "peer": {"who": str(row.peer), **summary(peer)},
        **verdict(ours, peer, row.target, row.test.higher_is_better),
        **about,
    }


def machine():
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text()
    fields = dict(line.split(":", 1) for line in cpuinfo.splitlines() if ":" in line)
    field = lambda name: next((v.strip() for k, v in fields.items() if k.strip() == name), "?")  # noqa: E731
    return {
        "cpu": f"{field('model name')} (family {field('cpu family')}, model {field('model')})",
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load_before": os.getloadavg()[0],
    }


def cairn_version():
    done = subprocess.run(
        ["git", "-C", str(peers.ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True
    )
    return done.stdout.strip() or "?"


def read(path):
    """The rows of an earlier run; none if there is no file."""
    if not path.exists():
        return []
    try:
        return json.loads(path.read_text())["rows"]
    except (ValueError, KeyError, TypeError) as error:
        raise peers.fetch.Failure(f"{path} isn't what bench/versus writes: {error}") from error


def merged(earlier, fresh, order):
    """One row a name, the fresh one where there are two; in `order`, names that it lacks last."""
    rows = {row["name"]: row for row in [*earlier, *fresh]}
    places = {name: place for place, name in enumerate(order)}
    return sorted(rows.values(), key=lambda row: places.get(row["name"], len(places)))


def write(path, rows):
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps({"rows": rows}, indent=1) + "\n")
    os.replace(partial, path)


def _number(value):
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _spread(side):
    return f"{_number(side['median'])} ({_number(side['min'])}-{_number(side['max'])})"


def _second_column(row):
    other = row.get("openvino")
    if not other:
        return ""
    return _number(other["median"]) if "median" in other else "can't: " + other["unable"]


def table(rows):
    lines = [
        "| row | unit | cairn | against | ratio | target | met | OpenVINO |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        bound = ">=" if row["better"] == "higher" else "<="
        attention = f" -fa {row['flash_attn']}" if "flash_attn" in row else ""
        cells = [
            row["name"],
            row["unit"],
            _spread(row["ours"]),
            _spread(row["peer"]) + attention,
            f"{row['ratio']:.2f} ({row['ratio_min']:.2f}-{row['ratio_max']:.2f})",
            f"{bound} {row['target']:g}",
            "yes" if row["met"] else "NO",
            _second_column(row),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    met = sum(row["met"] for row in rows)
    return "\n".join([*lines, "", f"{met} of {len(rows)} targets met."])
