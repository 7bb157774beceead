"""Invalidated text of edited files: a chunk that still says it stays invalid.

A file is edited for many reasons. The chunk of an invalidated one may have its wrong sentence mended, or another one, and only
whoever invalidated it knows which was wrong. So the mark stays as long as a sentence still stands that the reason may be about:
those with most of the reason's words, or any where none has one. Either way the report says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from lamina_engine.index.analysis import query_analyzer
from lamina_engine.index.state import INVALIDATED

if TYPE_CHECKING:
    from lamina_engine.index.view import View

_END: Final = re.compile(r"\n|(?<=[.!?])\s+")
_MARKS: Final = re.compile(r"[\s>*+|-]*(?:\d+[.)]\s+)?")
_WORD: Final = re.compile(r"\w")


class Edit(NamedTuple):
    """Fate of an invalidated chunk whose text a file no longer has as it was."""

    chunk: str
    reason: str | None
    stays: bool
    """False where what it was invalidated for is gone."""

    def message(self) -> str:
        """Return what happened, and what to do if that was wrong."""
        why = f" ({self.reason})" if self.reason else ""
        if self.stays:
            return (
                f"chunk {self.chunk} stays invalidated{why}: its file was edited, but it may still say what was wrong; "
                f"`lamina restore {self.chunk}` if it does not"
            )
        return (
            f"chunk {self.chunk} is current again: it was invalidated{why}, and the sentences that this is about were edited; "
            f"`lamina invalidate {self.chunk}` if it is still wrong"
        )


def keep_invalid(
    view: View, former: Sequence[str], ids: Sequence[str], texts: Sequence[str]
) -> tuple[dict[int, str | None], list[Edit]]:
    """Return positions whose texts still say what was invalidated, with the reasons, and edits.

    There is an edit for each chunk that was invalidated or is now. ``former`` are the chunks that the file had,
    ``ids`` and ``texts`` those it has.
    """
    if not view.state.invalidations:
        return {}, []
    rows = view.rows_of_ids(list(dict.fromkeys(former)))
    rows = rows[rows >= 0]
    wrong = rows[view.state.status[rows] == INVALIDATED]
    if not len(wrong):
        return {}, []
    from lamina_engine.chunks.reading import reasons_at

    places = {name: position for position, name in enumerate(ids)}
    known = {*former}
    fresh = [position for name, position in places.items() if name not in known]
    others = _joined("\n".join(view.snapshot.values("chunks", "text", np.setdiff1d(rows, wrong)))) if fresh else ""
    names, olds = (view.snapshot.values("chunks", column, wrong) for column in ("id", "text"))
    marked: dict[int, str | None] = {}
    edits: list[Edit] = []
    for name, old, reason in zip(names, olds, reasons_at(view, wrong), strict=True):
        position = places.get(name, -1)
        if position >= 0 and texts[position] == old:
            continue
        suspects = _suspects(view, old, reason)
        if position >= 0:
            stays = _says(texts[position], suspects)
            edits.append(Edit(name, reason, stays))
            if stays:
                marked[position] = reason
        # where the text was cut anew they are in a chunk of its own; what other chunks said all along is no sign of that
        moved = [each for each in suspects if each not in others]
        for position in fresh:
            if position not in marked and _says(texts[position], moved):
                marked[position] = reason
                edits.append(Edit(ids[position], reason, True))
    return marked, edits


def _suspects(view: View, text: str, reason: str | None) -> list[str]:
    """Return the sentences of a text that a reason may be about."""
    asked = {term.stem for term in query_analyzer().query(reason or "", view.languages) if not term.stop}
    shared: dict[str, int] = {}
    for part in _END.split(text):
        sentence = _MARKS.sub("", part, count=1)
        if _WORD.search(sentence) and not sentence.startswith("#"):
            stems = {term.stem for term in query_analyzer().tokens(sentence)}
            shared[_joined(sentence)] = len(stems & asked)
    most = max(shared.values(), default=0)
    return [sentence for sentence, count in shared.items() if count == most]


def _says(text: str, sentences: Sequence[str]) -> bool:
    joined = _joined(text)
    return any(sentence in joined for sentence in sentences)


def _joined(text: str) -> str:
    """Return a text with single spaces, also at both ends: found are whole words only."""
    return f" {' '.join(text.split())} "
