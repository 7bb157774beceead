"""Cost against size, a picture for docs/benchmarks.md: ``python -m bench.pictures`` draws the newest recorded runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from bench.history import Line, read
from bench.report import current, newest
from bench.systems import GrownLamina

PICTURE: Final = Path(__file__).parents[1] / "docs" / "images" / "cost.svg"
PANELS: Final = (
    ("Hybrid recall", "Hybrid recall, ms"),
    ("Words only", "Words only, ms"),
    ("Vectors only", "Vectors only, ms"),
    ("Adding a table with vectors", "Adding a table, ms a row"),
)
"""Groups that are drawn, with their titles."""
_COLOURS: Final = {
    "Lamina": "#c2410c", GrownLamina.label: "#fb923c",
    "hand-written: Tantivy + FAISS + NumPy": "#64748b", "hand-written, stop words dropped": "#0f172a",
    "qdrant-edge": "#be185d", "LanceDB": "#0d9488", "SQLite FTS5 + sqlite-vec": "#2563eb", "bm25s": "#7c3aed",
}  # fmt: skip


def curves(lines: Sequence[Line]) -> dict[str, list[tuple[int, float]]]:
    """Return by system its (rows, milliseconds), by size: the median of a call, or what one row of a rate takes."""
    found: dict[str, list[tuple[int, float]]] = {}
    for line in sorted((line for line in lines if line["size"]), key=lambda line: line["size"]):
        cost = line["median"] / (line["amount"] if line["kind"] == "rate" else 1)
        found.setdefault(line["system"], []).append((line["size"], cost * 1e3))
    return found


def draw(groups: Mapping[str, Sequence[Line]], path: Path = PICTURE) -> None:
    """Write the picture: a panel for each of `PANELS` that has been recorded."""
    matplotlib = import_module("matplotlib")
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "lamina", "font.size": 9, "svg.fonttype": "none"})
    pyplot = import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(2, 2, figsize=(9.0, 7.0), layout="constrained")
    handles: dict[str, Any] = {}
    for (group, title), panel in zip(PANELS, axes.flat, strict=True):
        sizes = set[int]()
        for system, points in curves(groups.get(group, ())).items():
            ours = system == "Lamina"
            (handles[system],) = panel.plot(
                *zip(*points, strict=True), color=_COLOURS.get(system, "#94a3b8"), marker="o", markersize=4,
                linewidth=2.5 if ours else 1.2, zorder=3 if ours else 2,
            )  # fmt: skip
            sizes.update(size for size, _ in points)
        panel.set(xscale="log", yscale="log", title=title)
        panel.set_xticks(sorted(sizes), [f"{size:,}" for size in sorted(sizes)])
        panel.minorticks_off()
        panel.grid(visible=True, color="#e2e8f0", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    if handles:
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


if __name__ == "__main__":
    draw(newest(current(read())))
