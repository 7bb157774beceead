"""The bundled embedder: WordLlama's token vectors, read from the installed package.

A text is split at white space, each word becomes the sum of its token vectors, the words are added up and the sum is
brought to unit length (a mean, since the length is normalised away). Table entries are float16 and sums are float64,
hence exact in any order: a vector depends on its text alone, never on batch, thread or cache.

WordLlama's own ``embed(norm=True)`` gives the same vectors (to its float32 sums) for texts whose white space is single
spaces. It differs where white space is anything else: its tokenizer turns line ends, tabs and runs of spaces into
tokens of their own, as does a space before a control token, which carry no meaning and are left out here.

Words become tokens by byte-pair encoding [1]_, in plain Python over two dictionaries, or the new words of many texts in
a kernel: a word gets ``▁`` in front, is cut into characters (a character outside the vocabulary becomes its UTF-8
bytes), and the adjacent pair with the lowest merge rank is joined until none is left, leftmost first. The ids are those
of the ``tokenizers`` library. Importing that library and building its tokenizer costs a fresh process 150 ms, the
dictionaries read back from a cache file 15; both then encode a word in about 15 µs.

Provenance. Package ``wordllama`` by Lee Miller, MIT licence. Its weights derive from the token tables of Llama 2 and
Phi-3, and its tokenizer is Llama 2's; redistributors should know those models' licences. The package's code is not
imported. The files are pinned by SHA-256: header and size are checked when the table is opened, the hash (10 ms) once per
process before the first large batch, or on request.

References
----------
.. [1] Sennrich, Haddow, Birch: Neural Machine Translation of Rare Words with Subword Units, 2016, section 3.2.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import sys
import threading
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain, compress, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.embed.protocol import check_query, check_texts
from lamina_engine.embed.weights import cached_path, check_sha256, map_tensors, package_folder, write_cached
from lamina_engine.errors import EmbeddingError, InvalidArgument, MissingExtra
from lamina_kernels._jit import compiled_before, is_ready, warm
from lamina_kernels.bytepairs import join_word_pairs
from lamina_kernels.layouts import I32, I64
from lamina_kernels.pooling import pool_words, pool_words_numpy, unit_rows

TOKENIZER_SHA256 = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
_REMEDY = "install it again: pip install --force-reinstall --no-deps wordllama==0.4.0.post1"

# Fixed by the tokenizer whose hash is pinned above.
_ID_BITS = 15
_ID_MASK = (1 << _ID_BITS) - 1
_FIRST_BYTE_ID = 3  # <0x00>
_SPECIAL_IDS = {"<unk>": 0, "<s>": 1, "</s>": 2}
_SPECIAL = re.compile("(<unk>|<s>|</s>)")

_LONGEST_KEPT_CHARS = 256
"""Longer words (keys, blobs) are seldom repeated, so they are encoded each time."""

_FEW_WORDS = 64
"""New words of a call up to which Python encodes them: a small add enters no kernel."""

_KERNEL_WORDS = 8_192
"""New words of a call before Numba is worth its import: Python takes some 50 µs for one that is no word of English."""


WEIGHTS_SHA256 = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"

DIMS = (256, 128, 64)
"""Dimensions it can give; the table was trained so that its first 128 or 64 columns stand alone."""

_SHAPE = (32_000, 256)

_WIDEN_TOKENS = 8_192
"""Calls with more tokens use the table as float64: 65 MB made once, in place of converting each row at each use."""

_KERNEL_TOKENS = 1_000_000
"""Tokens pooled in a process before Numba is worth its import, half a second against 200 ns a token."""

_QUERY_WORDS = 64
"""A longer query goes the way of documents."""

_WORDS_KEPT = 2_048
"""Words of queries whose sums are remembered: 2 KB each."""

_LONG_TOKENS = 65_536
"""A longer text goes to the kernel, since the twin gathers a text's rows at once: 2 KB a token."""


_PIECE_CHARS = 1 << 18
"""A longer run without spaces is cut, since joining its pairs takes some 200 bytes a character."""


class Merges(NamedTuple):
    """Dictionaries of the byte-pair encoding."""

    ids: dict[str, int]
    """Character → token id."""
    pairs: dict[int, int]
    """left id << 15 | right id → rank << 15 | joined id."""


class _PairTable(NamedTuple):
    """The same for the kernel, as `lamina_kernels.bytepairs.join_word_pairs` takes them."""

    ids: I32
    """int32 (1114112,): token of each character, −1 where it has none."""
    left_starts: I32
    rights: I32
    merges: I64


def _pair_table(merges: Merges) -> _PairTable:
    ids = np.full(sys.maxunicode + 1, -1, np.int32)
    ids[[ord(character) for character in merges.ids]] = list(merges.ids.values())
    keys = np.fromiter(merges.pairs, np.int64, len(merges.pairs))
    order = np.argsort(keys)
    keys, values = keys[order], np.fromiter(merges.pairs.values(), np.int64, len(merges.pairs))[order]
    starts = np.searchsorted(keys >> _ID_BITS, np.arange((1 << _ID_BITS) + 1))
    return _PairTable(ids, starts.astype(np.int32), (keys & _ID_MASK).astype(np.int32), values)


class BpeVocabulary(dict[str, bytes]):
    """Token ids of words, cached: ``vocabulary[word]`` is little-endian uint16 ids as bytes.

    Bytes, since joining them over a text is one C call, where lists of integers cost twice the time and five times the
    memory. It forgets everything when ``limit`` words are held; what it answers never depends on what it holds.
    """

    def __init__(self, merges: Merges, *, limit: int = 200_000) -> None:
        super().__init__()
        self._merges = merges
        self._limit = limit
        self._table: _PairTable | None = None

    def learn(self, texts: Sequence[str]) -> None:
        """Encode what new words texts have in one call, where these are many or the kernel is there."""
        new = [word for word in set().union(*map(str.split, texts)).difference(self) if _is_kept(word)][: self._limit]
        if len(new) <= _FEW_WORDS:
            return
        if not (is_ready(join_word_pairs) or (len(new) >= _KERNEL_WORDS and _is_kernel_at_hand())):
            return
        if len(self) + len(new) > self._limit:
            self.clear()
        table = self._table = self._table or _pair_table(self._merges)
        sizes = np.fromiter(map(len, new), np.int64, len(new)) + 1
        coded = "".join([f"▁{word}" for word in new]).encode("utf-32-le", "surrogatepass")
        characters = table.ids[np.frombuffer(coded, "<u4")]
        # a word with a character of several tokens is encoded when it is asked for
        whole = np.minimum.reduceat(characters, np.cumsum(sizes) - sizes) >= 0
        characters, starts = characters[np.repeat(whole, sizes)], np.cumsum([0, *sizes[whole].tolist()], dtype=np.int64)
        tokens, stops = np.empty(characters.size, np.uint16), np.empty(starts.size - 1, np.int64)
        join_word_pairs(characters, starts, table.left_starts, table.rights, table.merges, tokens, stops)
        coded, spans = tokens.astype("<u2").tobytes(), pairwise([0, *(2 * stops).tolist()])
        self.update(zip(compress(new, whole.tolist()), (coded[start:stop] for start, stop in spans), strict=True))

    def __missing__(self, word: str) -> bytes:
        ids = np.array(encode_word(word, self._merges), dtype="<u2").tobytes()
        if len(word) <= _LONGEST_KEPT_CHARS:
            if len(self) >= self._limit:
                self.clear()
            self[word] = ids
        return ids


def _is_kept(word: str) -> bool:
    return len(word) <= _LONGEST_KEPT_CHARS and not ("<" in word and _SPECIAL.search(word))


@functools.cache
def begin_compiling() -> threading.Thread:
    """Compile the kernel for new words on a thread, once a process."""
    return warm((join_word_pairs,))


def _is_kernel_at_hand() -> bool:
    """Return True if the kernel loads at once; if not, compile it on a thread."""
    if not compiled_before((join_word_pairs,)):
        begin_compiling()
        return False
    return True


def encode_word(word: str, merges: Merges) -> list[int]:
    """Return the token ids of one word."""
    if "<" in word and _SPECIAL.search(word):
        # control tokens written in the text stand for themselves, and what lies between starts a word of its own
        parts = (part for part in _SPECIAL.split(word) if part)
        return list(
            chain.from_iterable(
                [_SPECIAL_IDS[p]] if p in _SPECIAL_IDS else encode_piece("▁" + p, merges) for p in parts
            )
        )
    return encode_piece("▁" + word, merges) if word else []


def encode_piece(piece: str, merges: Merges) -> list[int]:
    """Return the token ids of a text whose spaces are written as ``▁``, none added in front."""
    parts = (piece[at : at + _PIECE_CHARS] for at in range(0, len(piece), _PIECE_CHARS))
    return list(chain.from_iterable(join_pairs(_characters(part, merges.ids), merges.pairs.get) for part in parts))


def join_pairs(ids: list[int], rank: Callable[[int], int | None]) -> list[int]:
    """Join adjacent tokens, lowest rank first, leftmost of equals; ``rank`` as `Merges.pairs`."""
    n = len(ids)
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
    """Return the dictionaries, from the cache folder or else from the tokenizer file."""
    cached = cached_path(f"wordllama-pieces-{TOKENIZER_SHA256[:16]}.bin")
    if cached is not None:
        try:
            return _unpack(cached.read_bytes())
        except (OSError, ValueError):  # not there yet, or torn
            pass
    check_sha256(tokenizer, TOKENIZER_SHA256, remedy=_REMEDY)
    merges = _parse(tokenizer)
    if cached is not None:
        write_cached(cached, _pack(merges))
    return merges


@functools.cache
def bundled_merges() -> Merges:
    """Return the dictionaries of the bundled tokenizer, one copy for the process."""
    return load_merges(tokenizer_path())


def _parse(tokenizer: Path) -> Merges:
    model = json.loads(tokenizer.read_bytes())["model"]
    vocabulary: dict[str, int] = model["vocab"]
    pairs: dict[int, int] = {}
    for order, line in enumerate(model["merges"]):
        first, _, second = line.partition(" ")
        pairs[vocabulary[first] << _ID_BITS | vocabulary[second]] = order << _ID_BITS | vocabulary[first + second]
    return Merges({token: number for token, number in vocabulary.items() if len(token) == 1}, pairs)


def _pack(merges: Merges) -> bytes:
    """Encode the dictionaries: SHA-256 of the rest, then counts and arrays as int32."""
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


class WordLlamaEmbedder:
    """Static token vectors, averaged; no limit of length, below 0.1 ms for a query.

    Examples
    --------
    >>> embedder = WordLlamaEmbedder()
    >>> embedder.embed_query("where are the keys").shape
    (256,)
    """

    def __init__(self, dim: int = 256, *, verify: bool = False) -> None:
        if dim not in DIMS:
            raise InvalidArgument(f"wordllama has no dim={dim!r}; give 256, 128 or 64")
        self._dim = dim
        self._weights = _package() / "weights" / "l2_supercat_256.safetensors"
        self._table = _open_table(self._weights)[:, :dim]
        self._lock = after_fork.make_lock()
        self._pieces: BpeVocabulary | None = None
        self._wide: NDArray[np.float64] | None = None
        self._pooled_tokens = 0
        self._sums: dict[str, NDArray[np.float64]] = {}
        if verify:
            self.verify()

    @property
    def identity(self) -> str:
        """Name, dimension, weights, normalisation and pooling."""
        return f"wordllama-l2-supercat;d={self._dim};weights={WEIGHTS_SHA256[:16]};norm=l2;pool=mean-word"

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return self._dim

    @property
    def max_tokens(self) -> None:
        """None: it reads texts of any length."""
        return

    @property
    def lane_weight(self) -> float:
        """Weight of its vector lane beside the lexical lane's 1.0."""
        return 0.25

    def verify(self) -> None:
        """Check the weights' SHA-256."""
        check_sha256(self._weights, WEIGHTS_SHA256, remedy=_REMEDY)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return float32 (dim,): a unit vector, or zeros for a text without words."""
        words = check_query(text).split()
        if not words or len(words) > _QUERY_WORDS:
            return self._pool([self._tokens(text)]).reshape(-1)
        return self.embed_weighted(words, [1.0] * len(words))

    def embed_weighted(self, words: Sequence[str], weights: Sequence[float]) -> NDArray[np.float32]:
        """Return float32 (dim,): the unit vector of words that count by their weights."""
        total = np.zeros((1, self._dim))
        for word, weight in zip(words, weights, strict=True):
            if weight:
                total += weight * self._sum_tokens(word)
        return unit_rows(total).reshape(-1)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 (n, dim): unit rows in order, zeros for texts without words.

        O(words); about 11,000 texts of 130 words (260 tokens) a second on one thread, once their words were seen.
        """
        checked = check_texts(texts)
        self._vocabulary().learn(checked)
        return self._pool([self._tokens(text) for text in checked])

    def has_word(self, word: str) -> bool:
        """Return True if the table has one vector for a whole word, as for most of English."""
        return len(self._tokens(word)) == np.dtype("<u2").itemsize

    def __reduce__(self) -> tuple[type[WordLlamaEmbedder], tuple[int]]:
        """Travel to another process as its dimension alone."""
        return type(self), (self._dim,)

    def _sum_tokens(self, word: str) -> NDArray[np.float64]:
        """Return the exact sum of a word's token vectors, float64 (dim,)."""
        found = self._sums.get(word)
        if found is None:
            if len(self._sums) > _WORDS_KEPT:
                self._sums.clear()
            tokens = np.frombuffer(self._tokens(word), dtype="<u2")
            found = self._sums[word] = np.add.reduce(self._table[tokens].astype(np.float64), axis=0)
        return found

    def _vocabulary(self) -> BpeVocabulary:
        if self._pieces is None:
            with self._lock:
                if self._pieces is None:
                    self._pieces = BpeVocabulary(bundled_merges())
        return self._pieces

    def _tokens(self, text: str) -> bytes:
        return b"".join(map(self._vocabulary().__getitem__, text.split()))

    def _pool(self, texts: list[bytes]) -> NDArray[np.float32]:
        """Sum and normalise by `pool_words` or its twin; the bytes are the same."""
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)) >> 1
        indptr = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum(lengths, out=indptr[1:])
        tokens = np.frombuffer(b"".join(texts), dtype="<u2").astype(np.int32)
        if len(tokens) <= _WIDEN_TOKENS and self._wide is None:
            rows = self._table[tokens].astype(np.float64)
            return pool_words_numpy(np.arange(len(tokens), dtype=np.int32), indptr, rows)
        wide = self._widen()
        self._pooled_tokens += len(tokens)
        long = lengths.max(initial=0) > _LONG_TOKENS
        if not pool_words.ready and not long and self._pooled_tokens < _KERNEL_TOKENS:
            return pool_words_numpy(tokens, indptr, wide)
        out = np.empty((len(texts), self._dim), dtype=np.float32)
        pool_words(tokens, indptr, wide, out)
        return out

    def _widen(self) -> NDArray[np.float64]:
        with self._lock:
            if self._wide is None:
                self.verify()  # about to read all of it anyway
                self._wide = self._table.astype(np.float64)
            return self._wide


def tokenizer_path() -> Path:
    """Return the bundled tokenizer's file."""
    return _package() / "tokenizers" / "l2_supercat_tokenizer_config.json"


def _package() -> Path:
    folder = package_folder("wordllama")
    if folder is None:
        raise MissingExtra(
            "the package wordllama, which carries the bundled model, is not installed; run: pip install "
            "--no-deps wordllama==0.4.0.post1"
        )
    return folder


def _open_table(weights: Path) -> NDArray[np.float16]:
    tensors = map_tensors(weights)
    table = tensors.get("embedding.weight")
    if table is None or table.shape != _SHAPE or table.dtype != np.float16:
        found = ", ".join(f"{name} {tensor.dtype}{tensor.shape}" for name, tensor in tensors.items())
        raise EmbeddingError(
            f"{weights} holds {found or 'nothing'}, expected is embedding.weight float16{_SHAPE}; {_REMEDY}"
        )
    return table
