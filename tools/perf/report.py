# SPDX-License-Identifier: Apache-2.0
"""shoal-perf report: draws what `shoal-perf --json` wrote as one HTML page that needs nothing else."""
import argparse
import html
import json
import os
import sys

import charts

FORMAT = "shoal-perf 1"
COLOURS = ("--c0", "--c1", "--c2", "--c3", "--c4", "--c5")

STYLE = """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --ink: #1c2430; --dim: #5d6878; --line: #dfe3e9; --grid: #e8ebf0;
  --one: #1c2430; --limit: #8a94a3; --c0: #1f6feb; --c1: #d2690e; --c2: #1a8f5a; --c3: #8b46c9; --c4: #c2255c; --c5: #0f8ea0;
  --r0: #d6f0df; --r1: #e9f3d3; --r2: #faf0c8; --r3: #fbe0c4; --r4: #f7cfcb; }
@media (prefers-color-scheme: dark) {
  :root { --page: #11151b; --card: #191f27; --ink: #e3e8ef; --dim: #97a3b3; --line: #2b333e; --grid: #262e38; --one: #e3e8ef;
    --limit: #7d8898; --c0: #6aa5ff; --c1: #f0a057; --c2: #5ccb92; --c3: #c08cf2; --c4: #f07aa0; --c5: #58c7d8;
    --r0: #17402a; --r1: #2f4019; --r2: #4a3f13; --r3: #55351a; --r4: #5a2727; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 26px; margin: 0 0 2px; } h2 { font-size: 20px; margin: 40px 0 12px; } h3 { font-size: 16px; margin: 0; font-family: ui-monospace, monospace; }
p { margin: 6px 0; } .dim { color: var(--dim); font-size: 13.5px; }
nav { margin: 14px 0; font-size: 14px; } nav a { margin-right: 14px; white-space: nowrap; } a { color: var(--c0); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; margin: 0 0 14px; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; margin-top: 8px; }
.pair figure { margin: 0; } figcaption { color: var(--dim); font-size: 13px; margin-bottom: 2px; }
@media (max-width: 720px) { .pair { grid-template-columns: 1fr; } }
.scroll { overflow-x: auto; }
svg { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg.bars { min-width: 800px; } svg .grid { stroke: var(--grid); } svg .one { stroke: var(--one); stroke-width: 1.2; } svg .tick { fill: var(--dim); font-size: 11.5px; }
svg .label { fill: var(--ink); font: 12.5px ui-monospace, monospace; } svg .value { fill: var(--dim); } svg .strong { fill: var(--ink); font-weight: 600; }
svg .curve { fill: none; stroke-width: 2; stroke-linejoin: round; } svg .band { opacity: .16; }
table { border-collapse: collapse; font-size: 13.5px; width: 100%; } th, td { padding: 3px 9px; text-align: right; white-space: nowrap; }
th { color: var(--dim); font-weight: 600; border-bottom: 1px solid var(--line); } th:first-child, td:first-child, .left { text-align: left !important; }
td.name { font-family: ui-monospace, monospace; }
td.r0 { background: var(--r0); } td.r1 { background: var(--r1); } td.r2 { background: var(--r2); } td.r3 { background: var(--r3); } td.r4 { background: var(--r4); }
.heat { font-size: 12px; width: auto; min-width: 50%; } .heat th, .heat td { padding: 3px 3px; } .heat td { border: 2px solid var(--card); } .heat .noisy { color: var(--dim); font-style: italic; }
.heat td:first-child, .heat th:first-child { position: sticky; left: 0; background: var(--card); padding-right: 10px; }
.key { display: inline-flex; gap: 18px; flex-wrap: wrap; font-size: 13.5px; color: var(--dim); margin: 4px 0; }
.key svg { display: inline-block; width: 34px; height: 10px; vertical-align: middle; margin-right: 6px; }
summary { cursor: pointer; color: var(--dim); font-size: 14px; } details { margin-top: 10px; }
.facts td { white-space: normal; text-align: left; vertical-align: top; } .facts td:first-child { color: var(--dim); white-space: nowrap; }
"""


class Run:
    """One file."""

    def __init__(self, path, data, colour):
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.data, self.colour = data, colour
        self.figures = data["figures"]

    def of(self, test):
        return [figure for figure in self.figures if figure["test"] == test]


def fail(text):
    print(f"shoal-perf report: {text}", file=sys.stderr)
    sys.exit(2)


def load(path, colour):
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except OSError as error:
        fail(f"cannot read {path}: {error.strerror}")
    except ValueError as error:
        fail(f"{path} is not JSON, or was cut short: {error}")
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        fail(f"{path} was not written by shoal-perf --json of this version (format {FORMAT!r})")
    if not isinstance(data.get("figures"), list):
        fail(f"{path} is damaged: it has no figures")
    return Run(path, data, colour)


def in_order(runs, key):
    """Values of `key` over all figures, each once, in the order of the files."""
    found = {}
    for run in runs:
        for figure in run.figures:
            found.setdefault(key(figure))
    return list(found)


def key_line(colour, name, dashed):
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return (f'<span><svg viewBox="0 0 34 10"><line x1="0" x2="34" y1="5" y2="5" stroke-width="2.4" style="stroke:var({colour})"{dash}/></svg>'
            f'{html.escape(name)}</span>')


def key_of(runs, curves):
    if not curves:
        lines = [key_line(run.colour, run.name, False) for run in runs]
    elif len(runs) == 1:
        lines = [key_line(runs[0].colour, "measured; the band holds the middle half of the samples", False),
                 key_line("--limit", "limit measured in turn with it", True)]
    else:
        lines = [line for run in runs for line in (key_line(run.colour, run.name, False), key_line(run.colour, "its limit", True))]
    return f'<div class="key">{"".join(lines)}</div>'


def by_size(runs, test, value, limit, band):
    """The curves of one test: for each run what was measured and its limit."""
    curves = []
    for run in runs:
        figures = [figure for figure in run.of(test) if figure["bytes"] is not None]
        limited = [figure for figure in figures if figure["limit_ns"]]
        if limited:
            curves.append({"colour": "--limit" if len(runs) == 1 else run.colour, "dashed": True, "name": f"{run.name}, limit",
                           "points": {figure["bytes"]: limit(figure) for figure in limited}})
        if figures:
            curves.append({"colour": run.colour, "dashed": False, "name": run.name,
                           "points": {figure["bytes"]: value(figure) for figure in figures},
                           "band": {figure["bytes"]: band(figure) for figure in figures}})
    return curves


def values(curves):
    return [value for curve in curves for value in curve["points"].values()]


def curves_card(runs, test):
    figures = [figure for run in runs for figure in run.of(test)]
    sizes = sorted({figure["bytes"] for figure in figures})
    time = by_size(runs, test, lambda f: f["time_ns"]["median"], lambda f: f["limit_ns"]["median"],
                   lambda f: (f["time_ns"]["q1"], f["time_ns"]["q3"]))
    latency = charts.line_chart(f"{test}: time by size", sizes, time, charts.LogAxis(min(values(time)), max(values(time))),
                                charts.time_text, charts.tick_time)

    def bandwidth(figure, ns):
        return figure["gb_per_s"] * figure["time_ns"]["median"] / ns

    speed = by_size(runs, test, lambda f: f["gb_per_s"], lambda f: bandwidth(f, f["limit_ns"]["median"]),
                    lambda f: (bandwidth(f, f["time_ns"]["q3"]), bandwidth(f, f["time_ns"]["q1"])))
    top = max(values(speed) + [0])
    for curve in speed:  # a band may reach above the figure
        if "band" in curve:
            curve["band"] = {size: (low, min(high, top)) for size, (low, high) in curve["band"].items()}
    rate = charts.line_chart(f"{test}: bandwidth by size", sizes, speed, charts.LinearAxis(top), lambda v: f"{charts.three(v)} GB/s", charts.short)
    names = sorted({figure["limit"] for figure in figures if figure["limit"]})
    limit = f' Limit: {html.escape(" or ".join(names))}.' if names else ""
    return (f'<div class="card" id="test-{html.escape(test)}"><h3>{html.escape(test)}</h3><p class="dim">{html.escape(figures[0]["about"])}; run by '
            f'{html.escape(figures[0]["who"])}.{limit}</p><div class="pair"><figure><figcaption>time of one operation</figcaption>{latency}</figure>'
            f'<figure><figcaption>bandwidth, GB/s</figcaption>{rate}</figure></div></div>')


def bars_card(runs, group, tests):
    rows = []
    for test in tests:
        labels = {}
        for run in runs:
            for figure in run.of(test):
                if figure["bytes"] is None and figure["ratio"] is not None:
                    label = test if figure["threads"] is None else f"{test}, {figure['threads']} thr"
                    labels.setdefault(label, []).append((run, figure))
        for label, found in labels.items():
            for index, (run, figure) in enumerate(found):
                text = f"{charts.time_text(figure['time_ns']['median'])}; {charts.time_text(figure['limit_ns']['median'])}: {figure['limit']}"
                text += "; ~ noisy" if figure["noisy"] else ""
                rows.append({"label": label, "ratio": figure["ratio"], "colour": run.colour, "text": text, "first": index == 0})
    if not rows:
        return ""
    return (f'<div class="card"><p class="dim">How many times the limit each takes. Beside each bar: its time; the limit and what that is.</p>'
            f'<div class="scroll">{charts.ratio_bars(group + ": ratio to the limit", rows)}</div></div>')


def heat_class(ratio):
    for index, bound in enumerate((1.1, 1.3, 2, 4)):
        if ratio <= bound:
            return f"r{index}"
    return "r4"


def heat_table(run):
    """Ratios of all tests by size, at a glance."""
    figures = [figure for figure in run.figures if figure["bytes"] is not None and figure["ratio"] is not None]
    if not figures:
        return ""
    sizes = sorted({figure["bytes"] for figure in figures})
    head = "".join(f"<th>{charts.size_text(size).replace(' B', '').replace(' ', '').replace('iB', '')}</th>" for size in sizes)
    rows = []
    for test in dict.fromkeys(figure["test"] for figure in figures):
        cells = {figure["bytes"]: figure for figure in figures if figure["test"] == test}
        row = [f'<td class="name"><a href="#test-{html.escape(test)}">{html.escape(test)}</a></td>']
        for size in sizes:
            if size in cells:
                noisy = cells[size]["noisy"]
                row.append(f'<td class="{heat_class(cells[size]["ratio"])}{" noisy" if noisy else ""}">{"~" if noisy else ""}'
                           f'{charts.three(cells[size]["ratio"])}</td>')
            else:
                row.append("<td></td>")
        rows.append(f"<tr>{''.join(row)}</tr>")
    return f'<div class="scroll"><table class="heat"><thead><tr><th>test</th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def full_table(run):
    rows = []
    for figure in run.figures:
        time, limit = figure["time_ns"], figure["limit_ns"]
        size = charts.size_text(figure["bytes"]) if figure["bytes"] else f"{figure['threads']} threads" if figure["threads"] else ""
        rate = f"{charts.three(figure['gb_per_s'])} GB/s" if figure["gb_per_s"] and figure["bytes"] else f"{charts.three(figure['mops_per_s'])} M/s"
        spread = f"{charts.time_text(time['q1'])} to {charts.time_text(time['q3'])}"
        ratio = ("~" if figure["noisy"] else "") + charts.three(figure["ratio"]) if figure["ratio"] else "–"
        what = "; ".join(text for text in (figure["limit"], figure["note"]) if text)
        rows.append(f'<tr><td class="name">{html.escape(figure["test"])}</td><td>{html.escape(figure["who"])}</td><td>{size}</td>'
                    f'<td>{charts.time_text(time["median"])}</td><td>{spread}</td><td>{rate}</td>'
                    f'<td>{charts.time_text(limit["median"]) if limit else "–"}</td><td>{ratio}</td><td class="left">{html.escape(what)}</td></tr>')
    head = "<th>test</th><th>who</th><th>size</th><th>median</th><th>quartiles</th><th>rate</th><th>limit</th><th>× limit</th><th class=\"left\">what the limit is</th>"
    skipped = "".join(f"<li><code>{html.escape(entry['test'])}</code>: {html.escape(entry['reason'])}</li>" for entry in run.data["skipped"])
    return (f'<details><summary>All figures of {html.escape(run.name)}</summary><div class="scroll"><table><thead><tr>{head}</tr></thead>'
            f'<tbody>{"".join(rows)}</tbody></table></div>{f"<p>Left out:</p><ul>{skipped}</ul>" if skipped else ""}</details>')


def facts_table(run):
    rows = [("run", f"{run.data['pes']} PEs, {run.data['date']}")]
    for part in ("machine", "build", "options", "environment"):
        text = "; ".join(f"{name}: {value.replace(',', ', ')}" for name, value in run.data[part].items())
        if text:
            rows.append((part, text))
    body = "".join(f"<tr><td>{html.escape(name)}</td><td>{html.escape(text)}</td></tr>" for name, text in rows)
    title = f"<h3>{html.escape(run.name)}</h3>"
    return f'<div class="card">{title}<table class="facts">{body}</table></div>'


def page(runs, title):
    groups = in_order(runs, lambda figure: figure["group"])
    nav = " ".join(f'<a href="#group-{html.escape(group)}">{html.escape(group)}</a>' for group in groups)
    out = [f"<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{html.escape(title)}</title>"
           f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body><main>'
           f"<h1>{html.escape(title)}</h1><p class=\"dim\">What each operation costs, beside the plainest code that does the same through "
           f"pointers into the other PE's memory, measured sample by sample in turn with it in the same run. All figures are medians; "
           f"× limit counts times, so 1 is the limit and less is better. ~ marks samples that lie far apart.</p>"]
    out += [facts_table(run) for run in runs]
    out.append(f"<nav>{nav}</nav>")
    for run in runs:
        table = heat_table(run)
        if table:
            name = f": {html.escape(run.name)}" if len(runs) > 1 else ""
            out.append(f'<h2>× limit by size{name}</h2><div class="card">{table}</div>')
    for group in groups:
        tests = in_order([run for run in runs], lambda f: f["test"] if f["group"] == group else None)
        tests = [test for test in tests if test is not None]
        sized = [test for test in tests if any(figure["bytes"] is not None for run in runs for figure in run.of(test))]
        out.append(f'<h2 id="group-{html.escape(group)}">{html.escape(group)}</h2>')
        if sized or len(runs) > 1:
            out.append(key_of(runs, bool(sized)))
        out.append(bars_card(runs, group, tests))
        out += [curves_card(runs, test) for test in sized]
    out.append("<h2>Everything</h2>")
    out += [full_table(run) for run in runs]
    out.append("</main></body></html>\n")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(prog="shoal-perf report", description="Draws results of shoal-perf --json as one self-contained HTML page: "
                                     "time and bandwidth by size beside their limits, ratios, and all figures. Several files share the charts.")
    parser.add_argument("files", nargs="+", metavar="FILE.json", help="results; at most %d" % len(COLOURS))
    parser.add_argument("-o", "--output", metavar="OUT.html", help="the page (default: the first file's name with .html)")
    parser.add_argument("--title", default="Shoal performance", help="the page's heading")
    options = parser.parse_args()
    if len(options.files) > len(COLOURS):
        fail(f"{len(options.files)} files are too many for one page: at most {len(COLOURS)}")
    runs = [load(path, colour) for path, colour in zip(options.files, COLOURS)]
    output = options.output or os.path.splitext(options.files[0])[0] + ".html"
    try:
        text = page(runs, options.title)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        fail(f"{', '.join(options.files)}: damaged: not as shoal-perf --json writes it ({type(error).__name__}: {error})")
    try:
        with open(output, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        fail(f"cannot write {output}: {error.strerror}")
    print(output)


if __name__ == "__main__":
    main()
