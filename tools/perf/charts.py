# SPDX-License-Identifier: Apache-2.0
"""Charts as inline SVG. Colours are CSS variables of the page, so that a chart follows light and dark."""
import html
import math

WIDTH, HEIGHT = 460, 270
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 12, 44


def time_text(ns):
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= factor:
            return f"{three(ns / factor)} {unit}"
    return f"{three(ns)} ns"


def three(value):
    """Three significant digits, without exponents."""
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def short(value):
    """A tick's label: no digits that say nothing."""
    return f"{value:.6g}"


def size_text(size):
    for factor, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def tick_time(ns):
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= factor:
            return f"{short(ns / factor)} {unit}"
    return f"{short(ns)} ns"


class LogAxis:
    """Decades, with 2 and 5 between them where there are few."""

    def __init__(self, low, high):
        self.low, self.high = low / 1.25, high * 1.25
        decades = math.log10(self.high / self.low)
        steps = (1, 2, 5) if decades < 2.2 else (1,)
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        ticks = [step * 10.0 ** power for power in range(first, last + 1) for step in steps]
        self.ticks = [tick for tick in ticks if self.low <= tick <= self.high]

    def part(self, value):
        return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)


class LinearAxis:
    """From 0 to a round number."""

    def __init__(self, high):
        step = 10.0 ** math.floor(math.log10(high))
        while high / step > 5:
            step *= 2
        if high / step < 2.5:
            step /= 2
        count = math.ceil(high * 1.02 / step)
        self.high = count * step
        self.ticks = [step * i for i in range(count + 1)]

    def part(self, value):
        return value / self.high


class SizeAxis:
    """Sizes by their logarithm, labelled as far as there is room."""

    def __init__(self, sizes):
        self.low, self.high = min(sizes), max(sizes)
        if self.low == self.high:
            self.low, self.high = self.low / 2, self.high * 2
        every = max(1, math.ceil(len(sizes) / 6))
        self.ticks = sorted(sizes)[::every]

    def part(self, value):
        return math.log(value / self.low) / math.log(self.high / self.low)


def line_chart(title, sizes, curves, y_axis, y_text, y_tick):
    """`curves`: dicts of colour (a CSS variable), dashed, name, points {size: value}, and perhaps band {size: (low, high)}."""
    x_axis = SizeAxis(sizes)
    inner_width, inner_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(size):
        return LEFT + inner_width * x_axis.part(size)

    def y(value):
        return TOP + inner_height * (1 - y_axis.part(value))

    out = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(title)}">']
    for tick in y_axis.ticks:
        out.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        out.append(f'<text class="tick" x="{LEFT - 7}" y="{y(tick) + 4:.1f}" text-anchor="end">{html.escape(y_tick(tick))}</text>')
    for tick in x_axis.ticks:
        out.append(f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{TOP + inner_height}"/>')
        anchor = "end" if x(tick) > WIDTH - RIGHT - 20 else "middle"
        out.append(f'<text class="tick" x="{x(tick):.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="{anchor}">{size_text(tick)}</text>')
    out.append(f'<text class="tick" x="{LEFT + inner_width / 2}" y="{HEIGHT - 8}" text-anchor="middle">size</text>')
    for curve in curves:
        out += curve_of(curve, x, y, y_text)
    out.append("</svg>")
    return "".join(out)


def curve_of(curve, x, y, y_text):
    out = []
    colour = f"var({curve['colour']})"
    points = sorted(curve["points"].items())
    if curve.get("band") and len(points) > 1:
        band = curve["band"]
        upper = [f"{x(size):.1f},{y(band[size][1]):.1f}" for size, _ in points]
        lower = [f"{x(size):.1f},{y(band[size][0]):.1f}" for size, _ in reversed(points)]
        out.append(f'<polygon points="{" ".join(upper + lower)}" style="fill:{colour}" class="band"/>')
    path = " ".join(f"{x(size):.1f},{y(value):.1f}" for size, value in points)
    dashed = ' stroke-dasharray="5 4"' if curve["dashed"] else ""
    out.append(f'<polyline points="{path}" class="curve" style="stroke:{colour}"{dashed}/>')
    radius = 2.4 if curve["dashed"] else 3.4
    for size, value in points:
        label = html.escape(f"{curve['name']}, {size_text(size)}: {y_text(value)}")
        out.append(f'<circle cx="{x(size):.1f}" cy="{y(value):.1f}" r="{radius}" style="fill:{colour}"><title>{label}</title></circle>')
    return out


BAR_WIDTH, BAR_LABEL, BAR_RIGHT, BAR_ROW, BAR_GAP = 1060, 180, 460, 22, 5


def ratio_bars(title, rows):
    """`rows`: dicts of label, ratio, colour, text (beside the bar), first (of its label). Bars grow from 1, by the logarithm."""
    high = max([row["ratio"] for row in rows] + [3.0]) * 1.1
    low = min([row["ratio"] for row in rows] + [0.8]) / 1.1
    room = BAR_WIDTH - BAR_LABEL - BAR_RIGHT
    height = BAR_ROW * len(rows) + BAR_GAP * sum(row["first"] for row in rows) + 26

    def x(ratio):
        return BAR_LABEL + room * math.log(ratio / low) / math.log(high / low)

    out = [f'<svg class="bars" viewBox="0 0 {BAR_WIDTH} {height}" role="img" aria-label="{html.escape(title)}">']
    ticks = [2.0 ** power for power in range(-6, 14) if low <= 2.0 ** power <= high]
    every = max(1, math.ceil(len(ticks) / 8))
    for tick in ticks:
        kind = "one" if tick == 1 else "grid"
        out.append(f'<line class="{kind}" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="0" y2="{height - 22}"/>')
        if round(math.log2(tick)) % every == 0:
            out.append(f'<text class="tick" x="{x(tick):.1f}" y="{height - 7}" text-anchor="middle">×{short(tick)}</text>')
    top = -BAR_ROW
    for row in rows:
        top += BAR_ROW
        if row["first"]:
            top += BAR_GAP
            out.append(f'<text class="label" x="{BAR_LABEL - 10}" y="{top + 16}" text-anchor="end">{html.escape(row["label"])}</text>')
        start, end = sorted((x(1), x(row["ratio"])))
        out.append(f'<rect x="{start:.1f}" y="{top + 4}" width="{max(end - start, 2):.1f}" height="{BAR_ROW - 9}" rx="2" '
                   f'style="fill:var({row["colour"]})"><title>{html.escape(row["label"])}: ×{three(row["ratio"])}</title></rect>')
        out.append(f'<text class="value" x="{max(end, x(1)) + 8:.1f}" y="{top + 16}"><tspan class="strong">×{three(row["ratio"])}</tspan> '
                   f'{html.escape(row["text"])}</text>')
    out.append("</svg>")
    return "".join(out)
