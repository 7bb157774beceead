"""Topic map: one self-contained page, chunks laid out in two dimensions.

Texts of the vault reach the page as data (JSON inside the page, drawn on a canvas or set as text) and never as markup.
"""

from __future__ import annotations

import colorsys
import importlib
import os
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from lamina_engine.errors import InvalidArgument, MissingExtra, install_command
from lamina_engine.reports import Report
from lamina_engine.topics.catalog import current_topics
from lamina_engine.topics.drift import usable_rows
from lamina_engine.topics.points import unit_rows
from lamina_kernels.layouts import F32, F64, I64

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

Layout = Literal["pca", "umap"]

MOST_POINTS: Final = 20_000
_MOST_NAMES: Final = 40
_TEXT_CHARS: Final = 160
_NAME_CHARS: Final = 48
_NOISE_COLOUR: Final = "#b8b8b8"

_TIP: Final = """\
<div style="width: 22em; white-space: normal; overflow-wrap: anywhere">
<div style="font-weight: bold">@topic</div><div>@text</div><div style="color: #767676">@id</div>
</div>"""
"""What hovering shows. Values are escaped where they are put in; no line is wider than the page."""


@dataclass(frozen=True, slots=True)
class MapReport(Report):
    """Report of a topic map."""

    path: str
    points: int
    topics: int
    bytes: int


@dataclass(frozen=True, slots=True)
class _Points:
    """Points to draw: places, and each point's topic position (−1 none), text and id."""

    places: F64
    topics: I64
    names: list[str]
    texts: list[str]
    ids: list[str]


def topic_map(memory: Memory, path: str | os.PathLike[str], *, layout: Layout = "pca") -> MapReport:
    """Write a page with all topics.

    Notes
    -----
    Of more than 20,000 chunks, evenly spaced ones are drawn.
    """
    if layout not in ("pca", "umap"):
        raise InvalidArgument(f"layout={layout!r} must be 'pca' or 'umap'")
    plotting = _module("bokeh.plotting", install_command("viz"))
    points = _points(memory.view(), layout)
    page = _page(plotting, points).encode("utf-8", "replace")
    target = Path(path)
    target.write_bytes(page)
    return MapReport(str(target), len(points.ids), len(points.names), len(page))


def _module(name: str, command: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtra(f"the topic map needs {name.partition('.')[0]}: {command}") from error


def _points(view: View, layout: Layout) -> _Points:
    found = current_topics(view)
    above = {topic.parent for topic in found.topics}
    lowest = [topic for topic in found.topics if topic.topic not in above]
    place = {topic.topic: position for position, topic in enumerate(lowest)}
    rows = usable_rows(view) if view.snapshot.space else np.empty(0, np.int64)
    rows = rows[:: max(1, -(-rows.size // MOST_POINTS))]
    topics = np.full(rows.size, -1)
    at = np.searchsorted(rows, found.members.rows)
    for position, row, name in zip(at.tolist(), found.members.rows.tolist(), found.members.topics, strict=True):
        if position < rows.size and rows[position] == row:
            topics[position] = place[name]
    vectors = unit_rows(view.vectors.gather(rows)) if rows.size else np.empty((0, 1), np.float32)
    return _Points(
        _umap(vectors) if layout == "umap" else principal(vectors), topics, [plain(topic.name) for topic in lowest],
        [plain(text) for text in view.snapshot.values("chunks", "text", rows)],
        view.snapshot.values("chunks", "id", rows),
    )  # fmt: skip


def principal(vectors: F32) -> F64:
    """Return the rows on their two principal components, float64 (n, 2), with fixed signs."""
    out = np.zeros((len(vectors), 2))
    if len(vectors) < 2:
        return out
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, _, axes = np.linalg.svd(centred.T @ centred, hermitian=True)
    best = axes[:2]
    best = best * np.sign(best[np.arange(len(best)), np.abs(best).argmax(axis=1)])[:, None]
    out[:, : len(best)] = centred @ best.T
    return out


def _umap(vectors: F32) -> F64:
    umap = _module("umap", "pip install umap-learn")
    if len(vectors) < 4:
        return principal(vectors)
    places: F64 = np.asarray(umap.UMAP(metric="cosine", random_state=0).fit_transform(vectors), np.float64)
    return places


def plain(text: str, most: int = _TEXT_CHARS) -> str:
    """Return the beginning of a text on one line, without invisible characters."""
    kept = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in text[: 4 * most])
    line = " ".join(kept.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _colours(count: int) -> list[str]:
    """Return colours that differ: hues by the golden angle, three shades in turn."""
    found = []
    for i in range(count):
        r, g, b = colorsys.hls_to_rgb((0.11 + i * 0.381966) % 1.0, (0.38, 0.5, 0.62)[i % 3], 0.62)
        found.append(f"#{int(r * 255):02x}{int(g * 255):02x}{int(b * 255):02x}")
    return found


def _page(plotting: Any, points: _Points) -> str:
    models, embed = importlib.import_module("bokeh.models"), importlib.import_module("bokeh.embed")
    resources = importlib.import_module("bokeh.resources")
    figure = plotting.figure(
        title=f"{len(points.names):,} topics, {len(points.ids):,} chunks", tools="pan,wheel_zoom,box_zoom,reset",
        active_scroll="wheel_zoom", sizing_mode="stretch_both", output_backend="canvas",
    )  # fmt: skip
    figure.toolbar.logo = None
    figure.axis.visible = figure.grid.visible = False
    colours = _colours(len(points.names))
    labels = points.topics.tolist()
    for noise in (True, False):  # what lies in topics is drawn over the rest
        some = [i for i, label in enumerate(labels) if (label < 0) == noise]
        source = models.ColumnDataSource(
            {
                "x": points.places[some, 0].tolist(), "y": points.places[some, 1].tolist(),
                "colour": [_NOISE_COLOUR if noise else colours[labels[i]] for i in some],
                "topic": ["–" if noise else points.names[labels[i]] for i in some],
                "text": [points.texts[i] for i in some], "id": [plain(points.ids[i]) for i in some],
            }
        )  # fmt: skip
        drawn = figure.scatter(
            "x", "y", color="colour", size=4 if noise else 6, alpha=0.35 if noise else 0.75, source=source
        )
        figure.add_tools(models.HoverTool(renderers=[drawn], tooltips=_TIP))
    _write_names(figure, models, points)
    page: str = embed.file_html(figure, resources.INLINE, title="Topics")
    return page


def _write_names(figure: Any, models: Any, points: _Points) -> None:
    """Write the names of the largest topics at the middle of their points."""
    sizes = np.bincount(points.topics[points.topics >= 0], minlength=len(points.names))
    largest = [i for i in np.lexsort((np.arange(sizes.size), -sizes))[:_MOST_NAMES].tolist() if sizes[i]]
    middles = [np.median(points.places[points.topics == i], axis=0).tolist() for i in largest]
    source = models.ColumnDataSource(
        {
            "x": [x for x, _ in middles],
            "y": [y for _, y in middles],
            "name": [plain(points.names[i], _NAME_CHARS) for i in largest],
        }
    )
    figure.text(
        "x", "y", text="name", source=source, text_align="center", text_font_size="11px", text_font_style="bold"
    )
