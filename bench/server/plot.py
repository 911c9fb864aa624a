"""docs/bench/server.svg: the server's processor time per decision, by pipeline, as lines on logarithmic axes."""

import math
from html import escape

from scenarios import CONTESTANTS

WIDTH, HEIGHT = 860, 520
LEFT, RIGHT, TOP, BOTTOM = 70, 240, 60, 55
LABEL_DISTANCE = 15  # so that labels do not lie on one another

# Readable on white and on black.
TEXT, GRID = "#808080", "#80808040"
METE_COLOURS = ("#2a9d8f", "#3a86ff", "#06a77d", "#5e9bd6", "#1b998b", "#4d8fac", "#2f9e44", "#748ffc", "#22b8cf", "#38a3a5")
REDIS_COLOURS = ("#e76f51", "#e63946", "#d9822b")


class Axes:
    def __init__(self, pipelines, values):
        self.pipelines = pipelines
        self.decades = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)

    def x(self, pipeline):
        steps = max(len(self.pipelines) - 1, 1)
        return LEFT + self.pipelines.index(pipeline) / steps * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        share = (math.log10(value) - self.decades[0]) / max(self.decades[-1] - self.decades[0], 1)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def text(x, y, content, anchor="start", colour=TEXT, size=12):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">{escape(content)}</text>'


def line(x1, y1, x2, y2, colour=GRID, dashes=""):
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{dashed}/>'


def format_time(ns):
    return f"{ns / 1000:g} μs" if ns >= 1000 else f"{ns:g} ns"


def grid(axes):
    for decade in axes.decades:
        y = axes.y(10.0**decade)
        yield line(LEFT, y, WIDTH - RIGHT, y)
        yield text(LEFT - 8, y + 4, format_time(10**decade), "end")
    for pipeline in axes.pipelines:
        x = axes.x(pipeline)
        yield line(x, TOP, x, HEIGHT - BOTTOM)
        yield text(x, HEIGHT - BOTTOM + 18, str(pipeline), "middle")
    yield text(LEFT, 24, "Server's processor time per decision (less is better)", size=15)
    yield text(LEFT, 42, "Mete: solid lines; Redis: dashed. Both axes are logarithmic.")
    yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "requests that a connection sends at once (pipeline)", "middle")


def curves(results):
    """Title, colour, dashes and points of each contestant that was measured."""
    colours = {"Mete": iter(METE_COLOURS * 2), "Redis": iter(REDIS_COLOURS * 2)}
    for contestant in CONTESTANTS:
        points = [(pipeline, results.processor_ns(contestant, pipeline)) for pipeline in results.pipelines]
        points = [point for point in points if point[1]]
        if points:
            yield contestant.title, next(colours[contestant.server]), contestant.server == "Redis", points


def spread(places):
    """Moves labels down where they would touch; the order stays."""
    moved = []
    for place in sorted(places):
        moved.append(max(place, moved[-1] + LABEL_DISTANCE) if moved else place)
    overflow = max(0, moved[-1] - (HEIGHT - BOTTOM)) if moved else 0
    for index in range(len(moved) - 1, -1, -1):
        limit = moved[index + 1] - LABEL_DISTANCE if index + 1 < len(moved) else moved[index] - overflow
        moved[index] = min(moved[index], limit)
    return moved


def draw(results):
    drawn = list(curves(results))
    if not drawn:
        return None
    axes = Axes(list(results.pipelines), [value for *_, points in drawn for _, value in points])
    parts = list(grid(axes))
    drawn.sort(key=lambda curve: axes.y(curve[3][-1][1]))
    labels = spread([axes.y(points[-1][1]) for *_, points in drawn])
    for (title, colour, is_dashed, points), label_y in zip(drawn, labels):
        places = [(axes.x(pipeline), axes.y(value)) for pipeline, value in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dashed = ' stroke-dasharray="6 4"' if is_dashed else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        x, y = places[-1]
        parts.append(line(x + 4, y, WIDTH - RIGHT + 22, label_y, colour, "1 4"))  # leads to the label
        parts.append(text(WIDTH - RIGHT + 26, label_y + 4, f"{title}, {points[-1][1]:,.0f} ns", colour=colour))
    body = "\n".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'font-family="system-ui, sans-serif" role="img">\n'
            f"<title>Server's processor time per decision, by pipeline</title>\n{body}\n</svg>\n")
