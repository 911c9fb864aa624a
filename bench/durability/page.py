"""A page of docs/bench: what was measured stands between two marks, and the rest is written by hand."""

import report

BEGIN, END = "<!-- measured -->\n", "<!-- end of what was measured -->\n"


def sections(findings, rows_title="Medians (least–most)"):
    bars = report.table(["bar", "measured", "must be", "verdict"], [bar.cells for bar in findings.bars])
    return "\n\n".join([f"Bars\n\n{bars}", f"{rows_title}\n\n" + report.table(["what", "measured"], findings.rows)])


def write(path, script, facts, text):
    """script: its path and the word of ./x bench for it. facts: lines of a list, beside the machine's."""
    head = f"""Written by `{script[0]}` (`./x bench {script[1]}` runs it); do not edit between the marks.

- machine: {report.machine()}
""" + "".join(f"- {fact}\n" for fact in facts)
    page = path.read_text(encoding="utf-8") if path.exists() else f"# {script[1]}\n\n{BEGIN}{END}"
    before, rest = page.split(BEGIN)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(before + BEGIN + head + "\n" + text + "\n" + END + rest.split(END)[1], encoding="utf-8")


def finish(path, script, facts, text, findings):
    """Writes and prints it; the exit status says whether all bars are reached."""
    write(path, script, facts, text)
    print(text)
    return 0 if all(bar.is_reached for bar in findings.bars) else 1
