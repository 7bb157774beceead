"""Forms of ASCII pieces: identifiers joined and in parts, and checksums of each form.

The rules are those of `lamina_engine.index.forms`, written over bytes; a test holds the two together on any input. They
live twice because a bulk write meets a million new pieces, each of which would cost Python some ten microseconds.
"""

# pyright: reportArgumentType=false
# an element of an array is a number to the compiler, and may be an array to a checker of stubs
from __future__ import annotations

import zlib

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import I32, I64, U8, U32

MAX_PIECE = 64
"""Bytes of the longest piece that is taken: no form of it is longer, so none has to be cut."""
TEXT_FACTOR = 3
"""Times the bytes of the pieces: room for the text of their forms (as written; joined by segment; joined as a whole)."""
FORM_FACTOR = 2
"""Times the bytes of the pieces: room for their forms, which are parts, joined segments, and at most two more."""
_LOW = 0xFFFFFFFF
_MAX_SEGMENTS = 4
_CRC = np.array([zlib.crc32(bytes([byte]), _LOW) ^ _LOW for byte in range(256)], np.uint32)
"""Checksum of one byte after an empty state: the table of the usual bytewise algorithm."""

_LOWER, _UPPER, _DIGIT = 1, 2, 3
_QUOTE, _PLUS, _HASH, _COMMA, _DASH, _DOT, _UNDERSCORE = 0x27, 0x2B, 0x23, 0x2C, 0x2D, 0x2E, 0x5F


@kernel
def _kind(byte: int) -> int:
    """Return 1 for a lower-case letter, 2 for a capital, 3 for a digit, 0 for anything else."""
    if 0x61 <= byte <= 0x7A:
        return 1
    if 0x41 <= byte <= 0x5A:
        return 2
    return 3 if 0x30 <= byte <= 0x39 else 0


@kernel
def _is_ending(byte: int) -> bool:
    return byte in (_PLUS, _HASH)


@kernel
def _load(text: U8, begin: int, end: int, out_word: U8) -> int:
    """Copy a piece without thousands separators; return its length, −1 if it is refused."""
    if end - begin > MAX_PIECE:
        return -1
    size = 0
    for i in range(begin, end):
        byte = text[i]
        if byte >= 0x80:
            return -1
        if byte == _COMMA and i > begin and _kind(text[i - 1]) == _DIGIT and i + 3 < end:
            digits = _kind(text[i + 1]) == _DIGIT and _kind(text[i + 2]) == _DIGIT and _kind(text[i + 3]) == _DIGIT
            if digits and (i + 4 >= end or _kind(text[i + 4]) != _DIGIT):
                continue
        out_word[size] = byte
        size += 1
    return size


@kernel
def _word_end(word: U8, begin: int, size: int) -> int:
    """Return the end of a word: alphanumeric runs joined by single connectors."""
    at = begin
    while True:
        while at < size and _kind(word[at]) != 0:
            at += 1
        following = at
        while following < size and word[following] == _UNDERSCORE:
            following += 1
        connector = int(word[following]) if following < size else 0
        if connector in (_DOT, _DASH) or (connector == _QUOTE and following == at):
            following += 1
        if following == at or following >= size or _kind(word[following]) == 0:
            break
        at = following
    if at + 1 < size and word[at] == _PLUS and word[at + 1] == _PLUS:
        return at + 2
    return at + 1 if at < size and word[at] == _HASH else at


@kernel
def _without_ending(out_word: U8, begin: int, end: int) -> int:
    """Strip a possessive, close up a contraction, keep ++ and # on short names; return the end."""
    bare = end
    while bare > begin and _is_ending(out_word[bare - 1]):
        bare -= 1
    if bare < end and bare - begin > 2:
        end = bare
    quote = -1
    quotes = 0
    for i in range(begin, end):
        if out_word[i] == _QUOTE:
            quote = i
            quotes += 1
    if quote < 0:
        return end
    size = end - quote - 1
    one = out_word[quote + 1] | 0x20 if size >= 1 else 0
    two = out_word[quote + 2] | 0x20 if size >= 2 else 0
    if size == 1 and one == 0x73:  # s
        return quote
    short = size == 1 and (one == 0x74 or one == 0x64 or one == 0x6D)  # t, d, m
    pair = size == 2 and ((two == 0x65 and (one == 0x72 or one == 0x76)) or (one == 0x6C and two == 0x6C))  # re, ve, ll
    if quotes == 1 and (short or pair):
        for i in range(quote, end - 1):
            out_word[i] = out_word[i + 1]
        return end - 1
    return end


@kernel
def _part_end(word: U8, at: int, end: int) -> int:
    """Return the end of a part: a number, a word, or an acronym (with a plural s)."""
    kind = _kind(word[at])
    stop = at
    while stop < end and _kind(word[stop]) == kind:
        stop += 1
    if kind != _UPPER or stop == end or _kind(word[stop]) != _LOWER:
        return stop
    if stop - at == 1:  # a capital and its word
        stop += 1
        while stop < end and _kind(word[stop]) == _LOWER:
            stop += 1
        return stop
    if stop + 1 < end and _kind(word[stop + 1]) == _LOWER:
        return stop - 1  # the last capital begins the next word
    return stop + 1  # IDs


@kernel
def _add_parts(word: U8, begin: int, end: int, shift: int, forms: int, out_begins: I64, out_ends: I64) -> int:
    """Write a segment's parts as spans of the text, ``shift`` on; return the number of forms."""
    at = begin
    while at < end:
        if _kind(word[at]) == 0:
            at += 1
            continue
        stop = at
        groups = 0
        before = 0
        while stop < end and _kind(word[stop]) != 0:
            kind = _kind(word[stop])
            groups += kind == _DIGIT and before != _DIGIT
            before = kind
            stop += 1
        while at < stop:
            # digits that come and go are a digest or a serial number, which stays whole
            part = stop if groups > 1 else _part_end(word, at, stop)
            out_begins[forms] = at + shift
            out_ends[forms] = part + shift
            forms += 1
            at = part
    return forms


@kernel
def _join(first: int, forms: int, used: int, out_begins: I64, out_ends: I64, out_text: U8) -> int:
    """Append the bytes of some forms, joined; return where the text ends now."""
    for form in range(first, forms):
        for i in range(out_begins[form], out_ends[form]):
            out_text[used] = out_text[i]
            used += 1
    return used


@kernel
def _number_end(word: U8, begin: int, end: int) -> int:
    """Return where a number with dots ends, or the beginning where there is none."""
    at = begin
    dots = 0
    while at < end and _kind(word[at]) == _DIGIT:
        at += 1
    while at > begin and at + 1 < end and word[at] == _DOT and _kind(word[at + 1]) == _DIGIT:
        dots += 1
        at += 1
        while at < end and _kind(word[at]) == _DIGIT:
            at += 1
    return at if dots > 0 else begin


@kernel
def _add_span(begin: int, end: int, forms: int, out_begins: I64, out_ends: I64) -> int:
    out_begins[forms] = begin
    out_ends[forms] = end
    return forms + 1


@kernel
def _same_surfaces(
    first: int, forms: int, out_begins: I64, out_ends: I64, out_surface_begins: I64, out_surface_ends: I64
) -> None:
    for form in range(first, forms):
        out_surface_begins[form] = out_begins[form]
        out_surface_ends[form] = out_ends[form]


@kernel
def _add_word(
    out_word: U8,
    begin: int,
    end: int,
    forms: int,
    used: int,
    out_text: U8,
    out_begins: I64,
    out_ends: I64,
    out_surface_begins: I64,
    out_surface_ends: I64,
) -> tuple[int, int]:
    """Write the forms of one word; return how many forms there are now, and where the text ends."""
    quoted = False
    dotted = False
    for i in range(begin, end):
        quoted = quoted or out_word[i] == _QUOTE
        dotted = dotted or out_word[i] == _DOT
    if quoted or _is_ending(out_word[end - 1]):
        end = _without_ending(out_word, begin, end)
    shift = used - begin
    for i in range(begin, end):
        byte = out_word[i]
        out_text[i + shift] = byte + 0x20 if _kind(byte) == _UPPER else byte
    whole, used = used, used + end - begin
    first = forms
    if dotted:
        start = begin + 1 if out_text[whole] == 0x76 else begin  # v1.2
        number = _number_end(out_word, start, end)
        if number > start:
            forms = _add_span(start + shift, number + shift, forms, out_begins, out_ends)
            forms = _add_parts(out_word, start, end, shift, forms, out_begins, out_ends)
            _same_surfaces(first, forms, out_begins, out_ends, out_surface_begins, out_surface_ends)
            return forms, used
        return _add_dotted(
            out_word, begin, end, whole, forms, used, out_text, out_begins, out_ends, out_surface_begins,
            out_surface_ends,
        )  # fmt: skip
    forms = _add_parts(out_word, begin, end, shift, forms, out_begins, out_ends)
    _same_surfaces(first, forms, out_begins, out_ends, out_surface_begins, out_surface_ends)
    if forms - first > 1:
        joined = _join(first, forms, used, out_begins, out_ends, out_text)
        out_surface_begins[forms], out_surface_ends[forms] = whole, whole + end - begin
        forms = _add_span(used, joined, forms, out_begins, out_ends)
        used = joined
    if _is_ending(out_word[end - 1]):
        out_surface_begins[forms], out_surface_ends[forms] = whole, whole + end - begin
        forms = _add_span(whole, whole + end - begin, forms, out_begins, out_ends)
    return forms, used


@kernel
def _add_dotted(
    word: U8,
    begin: int,
    end: int,
    whole: int,
    forms: int,
    used: int,
    out_text: U8,
    out_begins: I64,
    out_ends: I64,
    out_surface_begins: I64,
    out_surface_ends: I64,
) -> tuple[int, int]:
    """Write the forms of a dotted name: parts, segments of several parts, and all joined."""
    shift = whole - begin
    first = forms
    segments = 1
    for i in range(begin, end):
        segments += word[i] == _DOT
    forms = _add_parts(word, begin, end, shift, forms, out_begins, out_ends)
    parts = forms
    _same_surfaces(first, parts, out_begins, out_ends, out_surface_begins, out_surface_ends)
    part = first
    start = begin
    for _ in range(segments):
        stop = start
        while stop < end and word[stop] != _DOT:
            stop += 1
        upto = part
        while upto < parts and out_begins[upto] < stop + shift:
            upto += 1
        if upto - part > 1:
            joined = _join(part, upto, used, out_begins, out_ends, out_text)
            out_surface_begins[forms], out_surface_ends[forms] = start + shift, stop + shift
            forms = _add_span(used, joined, forms, out_begins, out_ends)
            used = joined
        part = upto
        start = stop + 1
    out_surface_begins[forms], out_surface_ends[forms] = whole, whole + end - begin
    if segments <= _MAX_SEGMENTS:
        joined = _join(first, parts, used, out_begins, out_ends, out_text)
        forms = _add_span(used, joined, forms, out_begins, out_ends)
        used = joined
    elif _is_ending(word[end - 1]):
        forms = _add_span(whole, whole + end - begin, forms, out_begins, out_ends)
    return forms, used


def _forms_examples() -> tuple[object, ...]:
    spans = [np.empty(16, np.int64) for _ in range(4)]
    text = np.frombuffer(b"aB.c", np.uint8)
    return text, np.array([0, 4]), np.empty(16, np.uint8), *spans, np.empty(1, np.int64), np.empty(1, np.uint8)


@kernel(examples=[_forms_examples])
def ascii_forms(
    text: U8,
    starts: I64,
    out_text: U8,
    out_begins: I64,
    out_ends: I64,
    out_surface_begins: I64,
    out_surface_ends: I64,
    out_stops: I64,
    out_taken: U8,
) -> None:
    """Write the forms of pieces: words to stem, and folded surface forms.

    Parameters
    ----------
    text : uint8 (b,)
        Bytes of the pieces.
    starts : int64 (n + 1,)
        Piece ``i`` is the bytes from ``starts[i]`` to ``starts[i + 1]``.
    out_text : uint8 (TEXT_FACTOR b',)
        Written: the folded bytes of the forms; b' bytes have the pieces.
    out_begins, out_ends : int64 (FORM_FACTOR b' + 2 n,)
        Written: the span of each form in ``out_text``, piece by piece.
    out_surface_begins, out_surface_ends : int64 (FORM_FACTOR b' + 2 n,)
        Written: the span of how each form is written.
    out_stops : int64 (n,)
        Written: where each piece's forms end.
    out_taken : uint8 (n,)
        Written: 0 for a piece that is not ASCII or longer than `MAX_PIECE`, which has no forms here.

    Notes
    -----
    O(b').
    """
    word = np.empty(MAX_PIECE, np.uint8)
    forms = 0
    used = 0
    for piece in range(starts.size - 1):
        size = _load(text, starts[piece], starts[piece + 1], word)
        out_taken[piece] = size >= 0
        at = 0
        while at < size:
            if _kind(word[at]) == 0:
                at += 1
                continue
            end = _word_end(word, at, size)
            forms, used = _add_word(
                word, at, end, forms, used, out_text, out_begins, out_ends, out_surface_begins, out_surface_ends
            )
            at = end
        out_stops[piece] = forms


def _letters_examples() -> tuple[object, ...]:
    return np.frombuffer(b"a1", np.uint8), np.array([0]), np.array([2]), np.empty(1, np.int64)


@kernel(examples=[_letters_examples])
def letter_ends(text: U8, begins: I64, ends: I64, out: I64) -> None:
    """Write the end of each span that is made of letters, and the beginning of any other.

    Parameters
    ----------
    text : uint8 (b,)
    begins, ends : int64 (n,)
    out : int64 (n,)
        Written.

    Notes
    -----
    O(bytes of the spans).
    """
    for span in range(begins.size):
        out[span] = ends[span]
        for i in range(begins[span], ends[span]):
            kind = _kind(text[i])
            if kind != _LOWER and kind != _UPPER:
                out[span] = begins[span]
                break


@kernel
def _crc(text: U8, begin: int, end: int, initial: int) -> int:
    """Return the CRC-32 of a span, as zlib has it."""
    state = initial ^ _LOW
    for i in range(begin, end):
        state = int(_CRC[(state ^ int(text[i])) & 0xFF]) ^ (state >> 8)
    return state ^ _LOW


@kernel
def _same(left: U8, begin: int, end: int, right: U8, start: int, stop: int) -> bool:
    same = end - begin == stop - start
    i = 0
    while same and begin + i < end:
        same = left[begin + i] == right[start + i]
        i += 1
    return same


def _finish_examples() -> tuple[object, ...]:
    one, none = np.array([1]), np.array([0])
    text = np.frombuffer(b"a", np.uint8)
    return (
        text, none, one, none, one, one, np.zeros(1, np.int32), text, np.array([0, 1]), 0,
        np.empty(2, np.uint32), np.empty(1, np.int64), np.empty(2, np.uint8), np.empty(1, np.int64),
    )  # fmt: skip


@kernel(examples=[_finish_examples])
def hash_forms(
    text: U8,
    begins: I64,
    ends: I64,
    surface_begins: I64,
    surface_ends: I64,
    stops: I64,
    stem_numbers: I32,
    stem_text: U8,
    stem_starts: I64,
    surface_initial: int,
    out_hashes: U32,
    out_hash_stops: I64,
    out_surfaces: U8,
    out_surface_stops: I64,
) -> None:
    """Write the hashes of pieces' forms, and their surfaces joined by blanks.

    Parameters
    ----------
    text : uint8 (b,)
    begins, ends : int64 (f,)
        Forms, as `ascii_forms` gives them.
    surface_begins, surface_ends : int64 (f,)
    stops : int64 (n,)
        Where each piece's forms end.
    stem_numbers : int32 (f,)
        Of each form, the number of its stem; −1 where the form is its own stem.
    stem_text : uint8 (s,)
        Bytes of the stems.
    stem_starts : int64 (k + 1,)
        Where each stem begins in them.
    surface_initial : int
        Checksum that those of surfaces go on from.
    out_hashes : uint32 (2 f,)
        Written: of each form its stem's checksum, then its surface's where that differs from the stem.
    out_hash_stops : int64 (n,)
        Written: where each piece's hashes end.
    out_surfaces : uint8 (bytes of all forms' surfaces + f,)
        Written.
    out_surface_stops : int64 (n,)
        Written: where each piece's surfaces end, without a blank behind the last.

    Notes
    -----
    O(bytes of the forms).
    """
    form = 0
    hashes = 0
    used = 0
    for piece in range(stops.size):
        first = form
        while form < stops[piece]:
            if form > first:
                out_surfaces[used] = 0x20
                used += 1
            source, begin, end = text, begins[form], ends[form]
            number = stem_numbers[form]
            if number >= 0:
                source, begin, end = stem_text, stem_starts[number], stem_starts[number + 1]
            for i in range(surface_begins[form], surface_ends[form]):
                out_surfaces[used] = text[i]
                used += 1
            out_hashes[hashes] = _crc(source, begin, end, 0)
            hashes += 1
            if not _same(source, begin, end, text, surface_begins[form], surface_ends[form]):
                out_hashes[hashes] = _crc(text, surface_begins[form], surface_ends[form], surface_initial)
                hashes += 1
            form += 1
        out_hash_stops[piece] = hashes
        out_surface_stops[piece] = used
