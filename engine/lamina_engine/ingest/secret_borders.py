"""Which places of literals can begin a secret at all: what their finders ask of the characters around, for many at once.

Nearly all places are words of prose and addresses: ``class=``, ``https://``, ``path``. A regular expression says so in a
microsecond, but there are six of them in a page of technical text. Here the conditions that need no expression are
looked up for all places of a batch: the border before a token, the first letter of a key word, the ``@`` of an address
with a password. A place that is left out gives no finding; one that is kept may still give none.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine.ingest.secret_contexts import NEEDED_WITHIN
from lamina_engine.ingest.secret_leads import Leads

_ANY, _TOKEN, _WORD = 0, 1, 2
_BACKSLASH: Final = ord("\\")


def _members(characters: bytes) -> NDArray[np.bool_]:
    table = np.zeros(256, np.bool_)
    table[list(characters)] = True
    return table


_LOWER = _members(b"abcdefghijklmnopqrstuvwxyz")
_UPPER = _members(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGIT = _members(b"0123456789")
_ALNUM = _LOWER | _UPPER | _DIGIT
_ESCAPED = _members(b"nrt")
_HEX = _members(b"0123456789ABCDEF")


class Demand(NamedTuple):
    """What one finder asks of a place of its literal."""

    literal: int
    """The literal's number."""
    back: int
    """Characters from the start of a match to the literal."""
    first: str = ""
    """The match's first letter, in lower case; empty for any."""
    border: bool = False
    """Whether no letter or digit may stand before the match, but those of an escape."""
    humps: bool = False
    """Whether a capital after a small letter or a digit is a border too, and ``%3D`` is none."""
    needs: str = ""
    """A character that must stand within `NEEDED_WITHIN` from the match's start; empty for none."""
    regex: re.Pattern[str] | None = None
    """What must match at the match's start; None for nothing that is known."""


class Borders:
    """The demands of all finders, by literal.

    Parameters
    ----------
    demands : sequence of Demand
        In any order.
    literals : int
        How many literals there are.
    """

    def __init__(self, demands: Sequence[Demand], literals: int) -> None:
        ordered = sorted(demands, key=lambda demand: demand.literal)
        self.texts = 0
        """Texts of batches seen so far, counted by the caller: many pay for more thorough a look."""
        self._regexes = [demand.regex for demand in ordered]
        self._counts = np.bincount([demand.literal for demand in ordered], minlength=literals).astype(np.int64)
        self._firsts = np.cumsum(self._counts) - self._counts
        self._back = np.array([demand.back for demand in ordered], np.int64)
        self._letter = np.array([ord(demand.first or "\0") for demand in ordered], np.uint8)
        self._kind = np.array([(_WORD if d.humps else _TOKEN) if d.border else _ANY for d in ordered], np.uint8)
        self._needed = {demand.needs for demand in ordered} - {""}
        self._needs = np.array([ord(demand.needs or "\0") for demand in ordered], np.uint8)

    def likely(
        self,
        raw: NDArray[np.uint8],
        positions: NDArray[np.int64],
        numbers: NDArray[np.int64],
        starts: NDArray[np.int64],
        *,
        leads: bool = False,
    ) -> NDArray[np.bool_]:
        """Tell which places meet the demands of any of their finders.

        Parameters
        ----------
        raw : uint8 (b,)
            One byte a character; what is not ASCII is no letter or digit.
        positions : int64 (m,)
            Of the literals.
        numbers : int64 (m,)
            Which literal.
        starts : int64 (m,)
            Where the text begins that a place is in; what lies before it decides nothing.
        leads : bool
            Ask also whether the text begins as their expressions do; worth it for many texts.

        Returns
        -------
        bool (m,)

        Notes
        -----
        O(m), and O(b) where a character is needed further on.
        """
        counts = self._counts[numbers]
        place = np.repeat(np.arange(positions.size), counts)
        demand = np.arange(place.size) + np.repeat(self._firsts[numbers] - (np.cumsum(counts) - counts), counts)
        at = positions[place] - self._back[demand]
        inside = at >= starts[place]
        here = raw[np.minimum(np.maximum(at, 0), raw.size - 1)]
        letter = self._letter[demand]
        good = (letter == 0) | ((here | np.uint8(0x20)) == letter)
        kind = self._kind[demand]
        bordered = np.flatnonzero(good & (kind != _ANY) & inside)
        good[bordered] = self._bordered(raw, at[bordered], kind[bordered], starts[place[bordered]])
        for character in self._needed:
            chosen = np.flatnonzero(good & (self._needs[demand] == ord(character)))
            good[chosen] = _followed(raw, at[chosen], ord(character))
        if leads:
            chosen = np.flatnonzero(good & inside)
            good[chosen] = self._leads.fit(raw, at[chosen], demand[chosen])
        good |= ~inside
        likely = np.zeros(positions.size, np.bool_)
        likely[place[good]] = True
        return likely

    @functools.cached_property
    def _leads(self) -> Leads:
        return Leads(self._regexes)

    @staticmethod
    def _bordered(
        raw: NDArray[np.uint8], at: NDArray[np.int64], kind: NDArray[np.uint8], starts: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        one, two, three = (raw[np.maximum(at - back, 0)] for back in (1, 2, 3))
        free = (at <= starts) | ~_ALNUM[one]
        escaped = _ESCAPED[one] & (two == _BACKSLASH)
        coded = (kind == _TOKEN) & (three == ord("%")) & _HEX[two] & _HEX[one]
        hump = (kind == _WORD) & (_LOWER[one] | _DIGIT[one]) & _UPPER[raw[at]]
        bordered: NDArray[np.bool_] = free | escaped | coded | hump
        return bordered


def _followed(raw: NDArray[np.uint8], at: NDArray[np.int64], byte: int) -> NDArray[np.bool_]:
    """Tell which places have a byte within `NEEDED_WITHIN`."""
    found = np.flatnonzero(raw == byte)
    if not found.size:
        return np.zeros(at.size, np.bool_)
    following = np.searchsorted(found, at)
    near = found[np.minimum(following, found.size - 1)]
    followed: NDArray[np.bool_] = (following < found.size) & (near < at + NEEDED_WITHIN)
    return followed
