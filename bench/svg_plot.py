"""Plots with logarithmic axes as SVG text, small enough to read in a diff; no library."""

import dataclasses
import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 50
COLORS = ("#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#57606a")


@dataclasses.dataclass(frozen=True)
class Series:
    """Points (x, low, middle, high), drawn as a dot with a bar; `line`: a function of x, drawn through."""

    name: str
    points: list
    line: object = None


class LogAxis:
    """Maps values to pixels; covers all values and ends where they do, a little beyond."""

    def __init__(self, values, first_pixel, last_pixel):
        low, high = math.log10(min(values)), math.log10(max(values))
        margin = max(0.04 * (high - low), 0.02)
        self.low, self.high = low - margin, high + margin
        self.first, self.last = first_pixel, last_pixel

    def pixel(self, value):
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.first + share * (self.last - self.first)

    def ticks(self):
        """Powers of ten; where fewer than three fit, their multiples by 2 and 5, too."""
        powers = range(math.floor(self.low), math.ceil(self.high) + 1)
        for factors in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)):
            ticks = [f * 10.0**p for p in powers for f in factors]
            ticks = [t for t in ticks if self.low <= math.log10(t) <= self.high]
            if len(ticks) >= 3:
                return ticks
        return ticks


def tick_text(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(words)}</text>'


def axes(x_axis, y_axis, x_ticks):
    parts = []
    for tick in x_ticks:
        x = x_axis.pixel(tick)
        parts.append(f'<path class="grid" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
        parts.append(text(x, HEIGHT - BOTTOM + 16, tick_text(tick)))
    for tick in y_axis.ticks():
        y = y_axis.pixel(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(text(LEFT - 6, y + 4, tick_text(tick), "end"))
    return parts


def series_parts(series, color, x_axis, y_axis, place):
    parts = []
    if series.line is not None:
        first, last = series.points[0][0], series.points[-1][0]
        steps = [first * (last / first) ** (i / 40) for i in range(41)]
        path = "L".join(f"{x_axis.pixel(n):.1f} {y_axis.pixel(series.line(n)):.1f}" for n in steps)
        parts.append(f'<path fill="none" stroke="{color}" d="M{path}"/>')
    for n, low, middle, high in series.points:
        x = x_axis.pixel(n)
        parts.append(f'<path stroke="{color}" d="M{x:.1f} {y_axis.pixel(low):.1f}V{y_axis.pixel(high):.1f}"/>')
        parts.append(f'<circle cx="{x:.1f}" cy="{y_axis.pixel(middle):.1f}" r="3" fill="{color}"/>')
    y = TOP + 14 + 16 * place
    parts.append(f'<circle cx="{LEFT + 12}" cy="{y - 4}" r="4" fill="{color}"/>')
    parts.append(text(LEFT + 22, y, series.name, "start"))
    return parts


def log_log(title, x_label, y_label, all_series):
    """REQUIRES: every series has points, all numbers positive."""
    xs = sorted({point[0] for series in all_series for point in series.points})
    ys = [value for series in all_series for point in series.points for value in point[1:]]
    ys += [series.line(n) for series in all_series if series.line for n in (series.points[0][0], series.points[-1][0])]
    x_axis = LogAxis(xs, LEFT, WIDTH - RIGHT)
    y_axis = LogAxis(ys, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">',
        "<style>.grid{stroke:#d0d7de;stroke-width:.5}text{fill:#24292f}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        text(WIDTH / 2, 22, title, extra=' font-size="14"'),
        text(WIDTH / 2, HEIGHT - 12, x_label),
        text(16, HEIGHT / 2, y_label, extra=f' transform="rotate(-90 16 {HEIGHT / 2})"'),
        *axes(x_axis, y_axis, xs if len(xs) <= 9 else x_axis.ticks()),
    ]
    for place, series in enumerate(all_series):
        parts += series_parts(series, COLORS[place % len(COLORS)], x_axis, y_axis, place)
    return "\n".join([*parts, "</svg>"]) + "\n"
