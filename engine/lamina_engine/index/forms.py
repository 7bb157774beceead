"""Forms of ASCII words, without the character classes of Unicode.

`Analyzer.tokens` says what a word gives, whatever its script. Here the same rules run over the characters of ASCII
words themselves, which are nearly all the words of a large corpus of technical text; a test holds the two together.
"""

from __future__ import annotations

import re

ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:(?:_+[.\-]?|[.\-'])[A-Za-z0-9]+)*(?:\+\+|#)?")
MAX_SEGMENTS = 4
"""Dotted names of more segments have no joined whole: nobody types it."""

_CONTRACTION = frozenset({"t", "re", "ve", "ll", "d", "m"})
_RUN = re.compile(r"[A-Za-z0-9]+")
_SERIAL = re.compile(r"[A-Za-z]*[0-9]+[A-Za-z]+[0-9]")
_PART = re.compile(r"[A-Z]{2,}[a-z](?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_NUMBER = re.compile(r"v?([0-9]+(?:\.[0-9]+)+)")

Forms = tuple[list[str], list[str]]
"""Folded words to be stemmed, and the surface of each; neither is cut to length."""


def ascii_forms(word: str) -> Forms:
    """Return the forms of one ASCII word, in the order of its terms.

    Parameters
    ----------
    word : str
        All of it one match of `ASCII_WORD`.

    Returns
    -------
    Forms
        At least one; the two lists may be the same object.
    """
    if word.islower():  # nearly all identifiers: lower-case letters and one kind of connector
        mark = "_" if "_" in word else "." if "." in word else "-"
        parts = [part for part in word.split(mark) if part]
        whole = "".join(parts)
        if whole.isalpha() and 1 < len(parts) <= MAX_SEGMENTS:
            return [*parts, whole], [*parts, word]
    if "'" in word or word[-1] in "+#":
        word, _ = without_ending(word, word)
    surface = word.lower()
    if "." in word:
        return _dotted_forms(word, surface)
    parts = _parts(word)
    bases, surfaces = parts, parts
    if len(parts) > 1:
        bases, surfaces = [*parts, "".join(parts)], [*parts, surface]
    if word[-1] in "+#":
        bases, surfaces = [*bases, surface], [*surfaces, surface]
    return bases, surfaces


def _dotted_forms(word: str, surface: str) -> Forms:
    number = _NUMBER.match(surface)
    if number is not None:
        bases = [number.group(1)]
        for segment in word[number.start(1) :].split("."):
            bases += _parts(segment)
        return bases, bases
    segments = [_parts(segment) for segment in word.split(".")]
    bases = [part for parts in segments for part in parts]
    surfaces = bases.copy()
    everything = "".join(bases)
    for parts, segment in zip(segments, surface.split("."), strict=True):
        if len(parts) > 1:
            bases.append("".join(parts))
            surfaces.append(segment)
    if len(segments) <= MAX_SEGMENTS:
        bases.append(everything)
        surfaces.append(surface)
    elif word[-1] in "+#":
        bases.append(surface)
        surfaces.append(surface)
    return bases, surfaces


def _parts(segment: str) -> list[str]:
    """Return the folded parts; a stretch in which digits come and go stays whole."""
    parts: list[str] = []
    for run in (segment,) if segment.isalnum() else _RUN.findall(segment):
        if run.isalpha() and run.islower():
            parts.append(run)
        elif _SERIAL.match(run):
            parts.append(run.lower())
        else:
            parts += [part.lower() for part in _PART.findall(run)]
    return parts


def without_ending(word: str, classes: str) -> tuple[str, str]:
    """Strip a possessive, close up a contraction, keep ``++`` and ``#`` on short names."""
    ending = classes.rstrip("+#")
    if len(ending) < len(classes) and len(ending) > 2:
        word, classes = word[: len(ending)], ending
    stem, mark, tail = word.rpartition("'")
    if mark and tail.lower() == "s":
        return stem, classes[: len(stem)]
    if mark and tail.lower() in _CONTRACTION and "'" not in stem:
        return stem + tail, classes[: len(stem)] + classes[len(stem) + 1 :]
    return word, classes
