"""Secret search: one vectorised pass for literals, then expressions around each.

A regular expression with a hundred alternatives, or a hundred substring searches, costs the sum of its parts on every
block that holds none of them. Here every window of four bytes is read as one 32-bit word, folded to lower case and
looked up in a table of hashes; what is left is compared exactly. The cost is that of the bytes, whatever the number of
literals: about 2 µs for 850 bytes with NumPy, a quarter of that with the kernel of `lamina_kernels.literals`.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.errors import InvalidArgument
from lamina_engine.redact.assignments import WORDS, Word, find_assignment, world_places
from lamina_engine.redact.contexts import CONTEXTS, Context, url_credentials
from lamina_engine.redact.patterns import PATTERNS
from lamina_engine.redact.values import is_random
from lamina_kernels._jit import compiled_before, is_ready, warm
from lamina_kernels.literals import FREE, LINK, TOKEN, Surroundings, check_places, find_grams, gram_table

GRAM = 4
"""Characters of a literal."""

_BITS = 16  # 64 KiB a table; 2,400 literals leave 96 % of it empty
# Two tables: what passes the first by chance rarely passes the second, and only then is a binary search worth it.
# 2**32 over the golden ratio (Knuth's multiplicative hash), and a second odd number unrelated to it (xxHash's prime 3).
_MULTIPLIERS = (np.uint32(0x9E3779B1), np.uint32(0xC2B2AE3D))
_FOLD = 0x20  # sets the bit that tells "a" from "A"; punctuation may be confused, which only costs a look
_SHORT = 384  # bytes up to which a look at each, of 90 ns, costs less than some thirty calls of NumPy
_BULK = 1 << 23  # bytes from which on it pays to load the kernel, which does the same
_MANY_TEXTS = 8_192  # small texts from which on the same holds, as for bulk analysis
_BLOCK = 1 << 17  # bytes; smaller blocks pay more in calls, larger ones leave the second-level cache
_KERNELS = (find_grams, check_places)


def as_bytes(text: str) -> NDArray[np.uint8]:
    """Encode a text as one byte per character; non-ASCII becomes ``?``, which never matches."""
    return np.frombuffer(text.encode("ascii", "replace"), dtype=np.uint8)


@functools.cache
def load_kernel() -> threading.Thread:
    """Load the kernel on a thread, once a process; one small text alone is not worth it."""
    return warm(_KERNELS)


def prepare_kernel(texts: int) -> None:
    """Load the kernel for many small texts: now if it is in the cache, else on a thread."""
    if texts >= _MANY_TEXTS:
        loading = load_kernel()
        if compiled_before(_KERNELS):
            loading.join()


class LiteralScan:
    """Multi-pattern search for literals of exactly `GRAM` ASCII characters, ignoring case.

    Literals that fold to the same four bytes share a number; any other length or alphabet is an `InvalidArgument`.
    """

    def __init__(self, literals: Iterable[str]) -> None:
        words = sorted({self._word(literal) for literal in literals})
        self._words: NDArray[np.uint32] = np.array(words, dtype=np.uint32)
        self._tables = np.zeros((len(_MULTIPLIERS), 1 << _BITS), dtype=np.bool_)
        for table, multiplier in zip(self._tables, _MULTIPLIERS, strict=True):
            table[_hash(self._words, multiplier)] = True
        self._by_bytes = {word.to_bytes(GRAM, "little"): number for number, word in enumerate(words)}
        self._bits = gram_table(self._words)
        self._numbers = {word: number for number, word in enumerate(words)}

    @property
    def size(self) -> int:
        """Number of literals, those that fold together counted once."""
        return int(self._words.size)

    def number(self, literal: str) -> int:
        """Return the number of a literal, as `hits` reports it."""
        return self._numbers[self._word(literal)]

    def hits(self, text: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find all literals: ascending positions, and the number of each.

        Punctuation that differs in one bit may be confused (``@`` and the grave accent): a hit is a reason to look, not a proof.
        O(len(text)), independent of the number of literals.
        """
        if is_ready(find_grams) or text.size >= _BULK:
            return self._hits_by_kernel(text)
        if text.size <= _SHORT:
            return self._hits_one_by_one(text)
        return self._hits_with_numpy(text)

    def _hits_with_numpy(self, text: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        raw = text | np.uint8(_FOLD)
        parts: list[NDArray[np.int64]] = []
        found: list[NDArray[np.uint32]] = []
        # one workspace for all blocks: fresh temporaries cost more in page faults than the arithmetic does
        room = min(_BLOCK, raw.size) // GRAM
        words, mixed = np.empty(room, np.uint32), np.empty(room, np.uint32)
        slots, marks = np.empty(room, np.intp), np.empty(room, np.bool_)
        for start in range(0, raw.size - GRAM + 1, _BLOCK):
            block = raw[start : start + _BLOCK + GRAM - 1]
            for phase in range(GRAM):
                n = (block.size - phase) // GRAM
                words.view(np.uint8)[: GRAM * n] = block[phase : phase + GRAM * n]  # aligned, unlike a view
                np.multiply(words[:n], _MULTIPLIERS[0], out=mixed[:n])
                np.right_shift(mixed[:n], 32 - _BITS, out=slots[:n], casting="unsafe")
                maybe = np.flatnonzero(self._tables[0].take(slots[:n], out=marks[:n], mode="clip"))
                survivors = words[maybe]
                likely = self._tables[1].take(_hash(survivors, _MULTIPLIERS[1]), mode="clip")
                parts.append(maybe[likely] * GRAM + (start + phase))
                found.append(survivors[likely])
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return self._exact(np.concatenate(parts), np.concatenate(found))

    def _hits_one_by_one(self, text: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        raw = (text | np.uint8(_FOLD)).tobytes()
        number = self._by_bytes.get
        found = [(i, n) for i in range(len(raw) - GRAM + 1) if (n := number(raw[i : i + GRAM])) is not None]
        pairs = np.array(found, np.int64).reshape(-1, 2)
        return pairs[:, 0].copy(), pairs[:, 1].copy()

    def _hits_by_kernel(self, text: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        room = 64 + text.size // 64
        while True:
            positions, numbers = np.empty(room, np.int64), np.empty(room, np.int64)
            found = find_grams(text, self._words, self._bits, positions, numbers)
            if found <= room:
                return positions[:found], numbers[:found]
            room = found

    def _exact(
        self, positions: NDArray[np.int64], words: NDArray[np.uint32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        numbers = np.minimum(np.searchsorted(self._words, words), self._words.size - 1)
        keep = self._words[numbers] == words
        positions, numbers = positions[keep], numbers[keep]
        order = np.argsort(positions, kind="stable")
        return positions[order], numbers[order]

    @staticmethod
    def _word(literal: str) -> int:
        if len(literal) != GRAM or not literal.isascii():
            raise InvalidArgument(f"literal {literal!r}: exactly {GRAM} ASCII characters are needed")
        return int.from_bytes(literal.encode("ascii"), "little") | int.from_bytes(bytes([_FOLD] * GRAM), "little")


def _hash(words: NDArray[np.uint32], multiplier: np.uint32) -> NDArray[np.intp]:
    mixed = words * multiplier
    mixed >>= np.uint32(32 - _BITS)
    return mixed.astype(np.intp)


Span = tuple[int, int, str]
"""Start, stop and kind of a secret."""

Place = tuple[int, int]
"""Position of a literal in a text, and its number."""

_JOINED_MAX = 1 << 20  # characters of one prefilter pass; more texts per pass save nothing, temporaries grow
_MIXED_CASE = re.compile(r"[a-z0-9][A-Z][a-z0-9]*[A-Z]")
_LONG_RUN = re.compile(r"[A-Za-z0-9]{16}")


_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
"""Letters that are not seen, and break a token for those who search."""
_BREAK = re.compile(r"[A-Za-z0-9_.+/=-]{8,400}\r?\n[ \t]*(?=(?P<rest>[A-Za-z0-9_+/=-]{6,200})[ \t]*(?:\r?\n|\Z))")


@after_fork.track_property_locks
@dataclass(frozen=True)
class _Shape:
    """A row of the pattern table."""

    kind: str
    pattern: str
    mixed: bool
    gaps: bool

    @functools.cached_property
    def regex(self) -> re.Pattern[str]:
        """Return the compiled pattern; most processes never meet its literals."""
        return re.compile(self.pattern, re.ASCII)

    @property
    def group(self) -> int:
        """Return the number of the group that is the secret."""
        return min(self.regex.groups, 1)


_Finder = _Shape | Context | Word


def _finders() -> tuple[LiteralScan, list[list[tuple[int, _Finder]]]]:
    """Return the scan and, by literal number, the finders with their distance to the match."""
    rows: list[tuple[str, int, _Finder]] = []
    for pattern in PATTERNS:
        shape = _Shape(pattern.kind, pattern.regex, pattern.mixed, pattern.gaps)
        rows += [(literal, back, shape) for literal in pattern.literals for back in pattern.back]
    rows += [(literal, context.back, context) for context in CONTEXTS for literal in context.literals]
    rows += [(literal, back, word) for literal, words in WORDS.items() for back, word in words]
    scan = LiteralScan(literal for literal, _, _ in rows)
    finders: list[list[tuple[int, _Finder]]] = [[] for _ in range(scan.size)]
    for literal, back, finder in rows:
        number = scan.number(literal)
        # "sk-A" and "sk-a" are one literal
        if not any(known is finder and at == back for at, known in finders[number]):
            finders[number].append((back, finder))
    return scan, finders


_SCAN, _FINDERS = _finders()


def _surroundings() -> Surroundings:
    """Return what must stand around each literal for one of its finders to find anything."""
    rows = [row for finders in _FINDERS for row in finders]
    leads = [b"" if isinstance(finder, _Shape) else finder.lead.encode("ascii") for _, finder in rows]
    folded = np.frombuffer(b"".join(leads), np.uint8) | np.uint8(_FOLD)
    return Surroundings(
        starts=np.cumsum([0, *map(len, _FINDERS)], dtype=np.int64),
        backs=np.array([back for back, _ in rows], np.int64),
        lead_starts=np.cumsum([0, *map(len, leads)], dtype=np.int64),
        leads=folded,
        follows=np.array([_follows(finder) for _, finder in rows], np.int64),
    )


def _follows(finder: _Finder) -> int:
    if isinstance(finder, _Shape):
        return FREE if finder.gaps else TOKEN
    return LINK if isinstance(finder, Context) and finder.find is url_credentials else FREE


_AROUND = _surroundings()


def places(text: str) -> list[Place]:
    """Return the positions of secrets' literals in a text, ascending; few in prose."""
    positions, numbers = _SCAN.hits(as_bytes(text))
    return list(zip(positions.tolist(), numbers.tolist(), strict=True))


def batch_places(texts: Sequence[str]) -> Iterator[tuple[int, list[Place]]]:
    """Yield the index and the places of each text that has any, scanning many texts in one pass.

    Also of those that hold what only a look beyond ASCII can find.
    """
    found = dict(_batch_places(texts))
    beyond = [i for i, text in enumerate(texts) if not text.isascii() and i not in found and _needs_a_look(text)]
    yield from sorted([*found.items(), *((i, []) for i in beyond)], key=itemgetter(0)) if beyond else found.items()


def _needs_a_look(text: str) -> bool:
    return any(mark in text for mark in _INVISIBLE) or next(world_places(text), None) is not None


def _batch_places(texts: Sequence[str]) -> Iterator[tuple[int, list[Place]]]:
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 1)
    first = 0
    while first < len(texts):
        before = int(ends[first - 1]) if first else 0
        stop = max(int(np.searchsorted(ends, before + _JOINED_MAX, side="right")), first + 1)
        yield from _group_places(texts[first:stop], first)
        first = stop


def _group_places(group: Sequence[str], first: int) -> Iterator[tuple[int, list[Place]]]:
    text = as_bytes("\n".join(group))
    positions, numbers = _SCAN.hits(text)
    if is_ready(check_places):  # a place that is left out finds nothing: only work is spared
        hopeful = np.empty(positions.size, np.uint8)
        check_places(text, positions, numbers, _AROUND, hopeful)
        positions, numbers = positions[hopeful > 0], numbers[hopeful > 0]
    sizes = np.fromiter(map(len, group), np.int64, len(group)) + 1
    begins = np.cumsum(sizes) - sizes
    owners = np.searchsorted(begins, positions, side="right") - 1
    offsets, literals = (positions - begins[owners]).tolist(), numbers.tolist()
    bounds = [*np.flatnonzero(np.diff(owners, prepend=-1)).tolist(), owners.size]
    for start, stop in pairwise(bounds):
        yield first + int(owners[start]), list(zip(offsets[start:stop], literals[start:stop], strict=True))


def candidates(text: str, at_places: Iterable[Place]) -> Iterator[Span]:
    """Yield the secrets at ascending positions of literals; they may overlap."""
    yield from _at_literals(text, at_places)
    if text.isascii():
        return
    for at, word in world_places(text):
        span = find_assignment(text, at, word)
        if span:
            yield span
    if any(mark in text for mark in _INVISIBLE):
        kept = [i for i, letter in enumerate(text) if letter not in _INVISIBLE]
        plain = "".join(map(text.__getitem__, kept))
        for start, stop, kind in candidates(plain, places(plain)):
            yield kept[start], kept[stop - 1] + 1, kind


def _at_literals(text: str, at_places: Iterable[Place]) -> Iterator[Span]:
    passed: dict[int, int] = {}
    for position, number in at_places:
        for back, finder in _FINDERS[number]:
            at = position - back
            # What starts inside the last match of the same pattern adds nothing, and a text made of nothing but
            # prefixes would pay for each of them. The key words of all assignments count as one pattern.
            group = 0 if isinstance(finder, Word) else id(finder)
            if at < passed.get(group, 0):
                continue
            if isinstance(finder, Context):
                yield from finder.find(text, at)
                continue
            taken, span = _assigned(finder, text, at) if isinstance(finder, Word) else _shaped(finder, text, at)
            if taken:
                passed[group] = taken
            if span:
                yield span


def _assigned(word: Word, text: str, at: int) -> tuple[int, Span | None]:
    span = find_assignment(text, at, word)
    return (span[1], span) if span else (0, None)


def _shaped(shape: _Shape, text: str, at: int) -> tuple[int, Span | None]:
    match = shape.regex.match(text, at)
    if match is None or text.startswith("\n", match.end()):
        broken = _broken(shape, text, at)
        if broken or match is None:
            return (broken[1], broken) if broken else (0, None)
    token = match[shape.group]
    # a row of crosses has the shape too; so have words joined by hyphens, where the row says so
    crosses = len(set(token[-12:])) == 1 and token[-1] in "xX*._-#"
    words = shape.mixed and not (is_random(token) or _MIXED_CASE.search(token) or _LONG_RUN.search(token))
    if crosses or words:
        return match.end(), None
    return match.end(), (match.start(shape.group), match.end(shape.group), shape.kind)


def _broken(shape: _Shape, text: str, at: int) -> Span | None:
    """Find a token whose rest stands alone on the next line, and is no word."""
    cut = _BREAK.match(text, at)
    if cut is None or not (is_random(cut["rest"]) or _MIXED_CASE.search(cut["rest"])):
        return None
    head = cut[0].rstrip()
    joined = text[max(0, at - 40) : at] + head + cut["rest"]  # what stands before it is a token's border
    begin = min(at, 40)
    match = shape.regex.match(joined, begin)
    if match is None or match.end(shape.group) <= begin + len(head):
        return None
    return (
        at + match.start(shape.group) - begin,
        cut.start("rest") + match.end(shape.group) - begin - len(head),
        shape.kind,
    )
