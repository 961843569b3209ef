"""The page docs/worked_numbers.md, made from a worked-numbers file and what the program says to it."""

GUIDE = {1: "the guide in 24 chapters", 2: "the deep dive L0 to L5"}
SOURCES = {
    "program": "program",
    "mixed": "program and a given number",
    "arithmetic": "arithmetic",
}

HEAD = """# Worked numbers

Two guides to the KV cache, both in Chinese, work out {total} numbers: sizes of caches, ratios of architectures, times,
and examples by hand. `tests/data/worked_numbers.json` lists all of them; this page says what each comes to.
`tests/check_worked_numbers --markdown` writes it, and without the flag checks that it still holds.

* Of the {computed} numbers that can be computed, {reproduced} come out exactly as listed: {program} are what
  `cairn size --json` answers (or a ratio, sum or difference of its answers), {mixed} combine an answer with a number
  that the guide takes as given (weights of 16.4 GB), and {arithmetic} are about no model: the
  formula is evaluated as it stands.
* {wrong} of them are printed wrong, and {wrong_other} statements besides are; they are explained below.
* The other {other} are quotations, measurements, facts of a model's configuration, rules, and examples with made-up
  numbers. They are listed and not recomputed; where the fact is about a model of the catalogue, the program's figure
  stands beside it.

KiB, MiB and GiB are powers of 1,024; KB, MB and GB powers of 1,000. Every size is in BF16 for one request unless the
line says otherwise.
"""


def cell(text):
    plain = str(text).replace("seed 1", GUIDE[1]).replace("seed 2", GUIDE[2])
    return plain.replace("|", r"\|").replace("\n", " ")


def table(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def ours(entry, answer, fact, shown):
    if answer is not None:
        return shown(answer.value)
    return fact or "-"


def verdict_text(entry, answer, verdict):
    if verdict == "agrees":
        return f"agrees ({SOURCES[answer.source]})"
    if verdict == "inconsistent":
        return f"printed wrong ({SOURCES[answer.source]})"
    if verdict == "differs":
        return "differs"
    return f"{entry['kind']}: printed wrong" if entry["verdict"] == "inconsistent" else entry["kind"]


def printed_wrong(results, shown):
    rows = []
    for entry, answer, verdict, _ in results:
        if entry["verdict"] != "inconsistent":
            continue
        found = shown(answer.value) + f" {entry.get('unit') or ''}" if answer else "-"
        rows.append((entry["id"], f"{entry['section']}: {entry['what']}", entry["printed"], found, entry["note"]))
    return table(("id", "what", "printed", "ours", "why"), rows)


def between(data):
    rows = [(row["topic"], row["seed1"], row["seed2"], row["truth"]) for row in data["between_the_seeds"]]
    return table(("topic", GUIDE[1], GUIDE[2], "what holds"), rows)


def page(data, results, facts, shown):
    computed = [result for result in results if result[2]]
    sources = [answer.source for _, answer, *_ in computed if answer]
    wrong = sum(verdict == "inconsistent" for *_, verdict, _ in computed)
    all_wrong = sum(entry["verdict"] == "inconsistent" for entry, *_ in results)
    text = HEAD.format(total=len(results), computed=len(computed), other=len(results) - len(computed),
                       reproduced=sum(verdict != "differs" for *_, verdict, _ in computed), wrong=wrong,
                       wrong_other=all_wrong - wrong, **{key: sources.count(key) for key in SOURCES})  # fmt: skip
    text += f"\n## Printed wrong\n\n{all_wrong} statements contradict their own inputs:\n\n" + printed_wrong(results, shown)
    text += f"\n## Where the guides differ\n\n{len(data['between_the_seeds'])} subjects on which one guide says another "
    text += "thing than the other, or than the models' own files:\n\n" + between(data)
    for guide, name in GUIDE.items():
        text += f"\n## All numbers of {name}\n"
        section = None
        rows = []
        for entry, answer, verdict, _ in [result for result in results if result[0]["seed"] == guide]:
            if entry["section"] != section:
                text += flush(section, rows)
                section, rows = entry["section"], []
            exact = ours(entry, answer, facts.get(entry["id"]), shown)
            unit = f" {entry['unit']}" if answer and entry.get("unit") else ""
            rows.append((entry["id"], entry["what"], entry["printed"], exact + unit,
                         verdict_text(entry, answer, verdict)))  # fmt: skip
        text += flush(section, rows)
    return text


def flush(section, rows):
    if not rows:
        return ""
    return f"\n### {section}\n\n" + table(("id", "what", "printed", "ours", "verdict"), rows)
