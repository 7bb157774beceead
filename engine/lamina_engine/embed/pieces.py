"""Words to token ids: the byte-pair encoding of the bundled tokenizer, in plain Python over two dictionaries.

A word gets ``▁`` in front, is cut into characters (a character outside the vocabulary becomes its UTF-8 bytes), and
the adjacent pair with the lowest merge rank is joined until none is left, leftmost first [1]_. The ids are those of the
``tokenizers`` library for the same word. Importing that library and building its tokenizer costs a fresh process
150 ms, the dictionaries read back from a cache file 15; both then encode a word in about 15 µs.

References
----------
.. [1] Sennrich, Haddow, Birch: Neural Machine Translation of Rare Words with Subword Units, 2016, section 3.2.
"""

from __future__ import annotations

import hashlib
import json
import re
from heapq import heapify, heappop, heappush
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lamina_engine.embed.places import cached_path, write_aside
from lamina_engine.embed.tensors import check_sha256

TOKENIZER_SHA256 = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
_REMEDY = "install it again: pip install --force-reinstall --no-deps wordllama==0.4.0.post1"

# Fixed by the tokenizer whose hash is pinned above.
_ID_BITS = 15
_ID_MASK = (1 << _ID_BITS) - 1
_FIRST_BYTE_ID = 3  # <0x00>
_SPECIAL_IDS = {"<unk>": 0, "<s>": 1, "</s>": 2}
_SPECIAL = re.compile("(<unk>|<s>|</s>)")

_LONGEST_KEPT_CHARS = 256
"""Longer words (keys, blobs) seldom come back and are encoded anew."""


class Merges(NamedTuple):
    """What encoding looks up."""

    ids: dict[str, int]
    """Character → token id."""
    pairs: dict[int, int]
    """left id << 15 | right id → rank << 15 | joined id."""


class Pieces(dict[str, bytes]):
    """Token ids of words, computed at first sight: ``pieces[word]`` is little-endian uint16 ids as bytes.

    Bytes, since joining them over a text is one C call, where lists of integers cost twice the time and five times the
    memory. It forgets everything when ``limit`` words are held; what it answers never depends on what it holds.

    Parameters
    ----------
    merges : Merges
        The tokenizer's dictionaries.
    limit : int
        Most words held; about 150 bytes each.
    """

    def __init__(self, merges: Merges, *, limit: int = 200_000) -> None:
        super().__init__()
        self._merges = merges
        self._limit = limit

    def __missing__(self, word: str) -> bytes:
        ids = np.array(encode(word, self._merges), dtype="<u2").tobytes()
        if len(word) <= _LONGEST_KEPT_CHARS:
            if len(self) >= self._limit:
                self.clear()
            self[word] = ids
        return ids


def encode(word: str, merges: Merges) -> list[int]:
    """Return the token ids of one word.

    Parameters
    ----------
    word : str
        Text without white space; may be empty.
    merges : Merges
        The tokenizer's dictionaries.

    Returns
    -------
    list of int
        Ids in order; O(n log n) for n characters.
    """
    if "<" in word and _SPECIAL.search(word):
        # control tokens written in the text stand for themselves, and what lies between starts a word of its own
        parts = (part for part in _SPECIAL.split(word) if part)
        return list(chain.from_iterable([_SPECIAL_IDS[p]] if p in _SPECIAL_IDS else _join(p, merges) for p in parts))
    return _join(word, merges) if word else []


def _join(word: str, merges: Merges) -> list[int]:
    ids = _characters("▁" + word, merges.ids)
    n = len(ids)
    rank = merges.pairs.get
    # Doubly linked list over positions. A queue entry is rank << 47 | joined id << 32 | position: lowest rank first,
    # then leftmost. An entry whose pair has changed since is recognised by its rank and dropped.
    left, right = list(range(-1, n - 1)), list(range(1, n + 1))
    queue = [merge << 32 | i for i in range(n - 1) if (merge := rank(ids[i] << _ID_BITS | ids[i + 1])) is not None]
    heapify(queue)
    while queue:
        entry = heappop(queue)
        i, merge = entry & 0xFFFFFFFF, entry >> 32
        j = right[i]
        if ids[i] < 0 or j >= n or rank(ids[i] << _ID_BITS | ids[j]) != merge:
            continue
        ids[i], ids[j] = merge & _ID_MASK, -1
        h, k = left[i], right[j]
        right[i] = k
        if k < n:
            left[k] = i
            if (merge_right := rank(ids[i] << _ID_BITS | ids[k])) is not None:
                heappush(queue, merge_right << 32 | i)
        if h >= 0 and (merge_left := rank(ids[h] << _ID_BITS | ids[i])) is not None:
            heappush(queue, merge_left << 32 | h)
    return [token for token in ids if token >= 0]


def _characters(text: str, known: dict[str, int]) -> list[int]:
    ids: list[int] = []
    for character in text:
        token = known.get(character)
        if token is None:
            # lone surrogates cannot be UTF-8; they get the three bytes they would have
            ids.extend(_FIRST_BYTE_ID + byte for byte in character.encode("utf-8", "surrogatepass"))
        else:
            ids.append(token)
    return ids


def load_merges(tokenizer: Path) -> Merges:
    """Return the dictionaries, from the user's cache folder, or else from the tokenizer file (and cached then).

    Parameters
    ----------
    tokenizer : Path
        The tokenizer's JSON file; read, and checked against the pinned SHA-256, only where the cache does not hold it.

    Raises
    ------
    EmbeddingError
        When the tokenizer file is needed and is missing or not the pinned one.
    """
    cached = cached_path(f"wordllama-pieces-{TOKENIZER_SHA256[:16]}.bin")
    if cached is not None:
        try:
            return _unpack(cached.read_bytes())
        except (OSError, ValueError):  # not there yet, or torn
            pass
    check_sha256(tokenizer, TOKENIZER_SHA256, remedy=_REMEDY)
    merges = _parse(tokenizer)
    if cached is not None:
        write_aside(cached, _pack(merges))
    return merges


def _parse(tokenizer: Path) -> Merges:
    model = json.loads(tokenizer.read_bytes())["model"]
    vocabulary: dict[str, int] = model["vocab"]
    pairs: dict[int, int] = {}
    for order, line in enumerate(model["merges"]):
        first, _, second = line.partition(" ")
        pairs[vocabulary[first] << _ID_BITS | vocabulary[second]] = order << _ID_BITS | vocabulary[first + second]
    return Merges({token: number for token, number in vocabulary.items() if len(token) == 1}, pairs)


def _pack(merges: Merges) -> bytes:
    """SHA-256 of the rest, then int32: number of characters, code points, their ids, pairs, what they become."""
    columns = [len(merges.ids)], map(ord, merges.ids), merges.ids.values(), merges.pairs, merges.pairs.values()
    body = np.fromiter(chain.from_iterable(columns), dtype="<i4").tobytes()
    return hashlib.sha256(body).digest() + body


def _unpack(data: bytes) -> Merges:
    if hashlib.sha256(data[32:]).digest() != data[:32]:
        raise ValueError("checksum")
    numbers = np.frombuffer(data, dtype="<i4", offset=32)
    characters, rest = numbers[1 : 1 + 2 * numbers[0]].reshape(2, -1), numbers[1 + 2 * numbers[0] :].reshape(2, -1)
    return Merges(
        dict(zip(map(chr, characters[0].tolist()), characters[1].tolist(), strict=True)),
        dict(zip(rest[0].tolist(), rest[1].tolist(), strict=True)),
    )
