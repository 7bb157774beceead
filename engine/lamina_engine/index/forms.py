"""Forms of ASCII words, fast: what an index and its scoring see of a word, without the character classes.

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
_PART = re.compile(r"[A-Z]{2,}[a-z](?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_NUMBER = re.compile(r"v?([0-9]+(?:\.[0-9]+)+)")

Form = tuple[str, str]
"""A folded word to be stemmed, and its surface."""


def ascii_forms(word: str) -> list[Form]:
    """Return the forms of one ASCII word, in the order of its terms.

    Parameters
    ----------
    word : str
        All of it one match of `ASCII_WORD`.

    Returns
    -------
    list of Form
        At least one; neither half is stemmed or cut to length.
    """
    if "'" in word or word[-1] in "+#":
        word, _ = without_ending(word, word)
    surface = word.lower()
    number = _NUMBER.match(surface)
    if number is not None:
        whole = number.group(1)
        parts = [part for segment in word[number.start(1) :].split(".") for part in _parts(segment)]
        return [(whole, whole), *[(part, part) for part in parts]]
    if "." not in word:
        parts = _parts(word)
        forms = [(part, part) for part in parts]
        if len(parts) > 1:
            forms.append(("".join(parts), surface))
        if word[-1] in "+#":
            forms.append((surface, surface))
        return forms
    return _dotted_forms(word, surface)


def _dotted_forms(word: str, surface: str) -> list[Form]:
    segments = [_parts(segment) for segment in word.split(".")]
    forms = [(part, part) for parts in segments for part in parts]
    everything = "".join([part for part, _ in forms])
    for parts, segment in zip(segments, surface.split("."), strict=True):
        if len(parts) > 1:
            forms.append(("".join(parts), segment))
    if len(segments) <= MAX_SEGMENTS:
        forms.append((everything, surface))
    elif word[-1] in "+#":
        forms.append((surface, surface))
    return forms


def _parts(segment: str) -> list[str]:
    """Return the folded parts; a stretch in which digits come and go stays whole."""
    parts: list[str] = []
    for run in _RUN.findall(segment):
        if run.isalpha() and run.islower():
            parts.append(run)
            continue
        found = _PART.findall(run)
        if len(found) > 1 and sum([part.isdigit() for part in found]) > 1:
            parts.append(run.lower())
        else:
            parts.extend([part.lower() for part in found])
    return parts


def without_ending(word: str, classes: str) -> tuple[str, str]:
    """Drop a possessive 's, close up a contraction (dont), keep ``++`` and ``#`` on short names only."""
    ending = classes.rstrip("+#")
    if len(ending) < len(classes) and len(ending) > 2:
        word, classes = word[: len(ending)], ending
    stem, mark, tail = word.rpartition("'")
    if mark and tail.lower() == "s":
        return stem, classes[: len(stem)]
    if mark and tail.lower() in _CONTRACTION and "'" not in stem:
        return stem + tail, classes[: len(stem)] + classes[len(stem) + 1 :]
    return word, classes
