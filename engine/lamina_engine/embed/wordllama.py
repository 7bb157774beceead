"""The bundled embedder: WordLlama's table of token vectors, read straight from the installed package's files.

A text is split at white space, each word becomes the sum of its token vectors, the words are added up and the sum is
brought to unit length (a mean, since the length is normalised away). Table entries are float16 and sums are float64,
hence exact in any order: a vector depends on its text alone, never on batch, thread or cache.

WordLlama's own ``embed(norm=True)`` gives the same vectors (to its float32 sums) for texts whose white space is single
spaces. It differs where white space is anything else: its tokenizer turns line ends, tabs and runs of spaces into
tokens of their own, which carry no meaning and are left out here.

Provenance. Package ``wordllama`` by Lee Miller, MIT licence. Its weights derive from the token tables of Llama 2 and
Phi-3, and its tokenizer is Llama 2's; who redistributes them should know those models' licences. The package's code is
not imported. The files are pinned by SHA-256: header and size are checked when the table is opened, the hash (10 ms)
once per process before the first large batch, or when asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.embed.places import package_folder
from lamina_engine.embed.rows import check_query, check_texts
from lamina_engine.embed.tensors import check_sha256, map_tensors
from lamina_engine.errors import EmbeddingError, InvalidArgument, MissingExtra
from lamina_kernels.pooling import pool_words, pool_words_numpy, unit_rows

if TYPE_CHECKING:
    from lamina_engine.embed.pieces import Pieces

WEIGHTS_SHA256 = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
DIMS = (256, 128, 64)
"""Dimensions it can give; the table was trained so that its first 128 or 64 columns stand alone."""
_SHAPE = (32_000, 256)
_REMEDY = "install it again: pip install --force-reinstall --no-deps wordllama==0.4.0.post1"

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


class WordLlamaEmbedder:
    """Static token vectors, averaged; no limit of length, below 0.1 ms for a query.

    Parameters
    ----------
    dim : {256, 128, 64}
        Leading columns used.
    verify : bool
        Check the weights' SHA-256 now.

    Raises
    ------
    InvalidArgument
        When ``dim`` is none of the three.
    MissingExtra
        When the package ``wordllama`` is not installed.
    EmbeddingError
        When its files are not the pinned ones.

    Examples
    --------
    >>> embedder = WordLlamaEmbedder()
    >>> embedder.embed_query("where are the keys").shape
    (256,)
    """

    def __init__(self, dim: int = 256, *, verify: bool = False) -> None:
        if dim not in DIMS:
            raise InvalidArgument(f"wordllama has no dim={dim!r}; give 256, 128 or 64")
        folder = package_folder("wordllama")
        if folder is None:
            raise MissingExtra(
                "the package wordllama, which carries the bundled model, is not installed; run: pip install "
                "--no-deps wordllama==0.4.0.post1"
            )
        self._dim = dim
        self._weights = folder / "weights" / "l2_supercat_256.safetensors"
        self._tokenizer = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
        self._table = _open_table(self._weights)[:, :dim]
        self._lock = after_fork.make_lock()
        self._pieces: Pieces | None = None
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
        """Check the weights' SHA-256.

        Raises
        ------
        EmbeddingError
            When the file is not the pinned one.
        """
        check_sha256(self._weights, WEIGHTS_SHA256, remedy=_REMEDY)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return float32 (dim,): a unit vector, or zeros for a text without words.

        Raises
        ------
        InvalidArgument
            When it is not a text.
        EmbeddingError
            When the package's files are damaged.
        """
        words = check_query(text).split()
        if not words or len(words) > _QUERY_WORDS:
            return self._pool([self._tokens(text)]).reshape(-1)
        if len(self._sums) > _WORDS_KEPT:
            self._sums.clear()
        total = np.zeros((1, self._dim))
        for word in words:
            total += self._sum_of(word)
        return unit_rows(total).reshape(-1)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 (n, dim): unit rows in order, zeros for texts without words.

        Raises
        ------
        InvalidArgument
            When it is not a sequence of texts.
        EmbeddingError
            When the package's files are damaged.

        Notes
        -----
        O(words); about 11,000 texts of 130 words (260 tokens) a second on one thread, once their words were seen.
        """
        return self._pool([self._tokens(text) for text in check_texts(texts)])

    def __reduce__(self) -> tuple[type[WordLlamaEmbedder], tuple[int]]:
        """Travel to another process as its dimension alone."""
        return type(self), (self._dim,)

    def _sum_of(self, word: str) -> NDArray[np.float64]:
        """Return the sum of a word's token vectors, float64 (dim,); exact, so adding up sums changes no bit."""
        found = self._sums.get(word)
        if found is None:
            tokens = np.frombuffer(self._tokens(word), dtype="<u2")
            found = self._sums[word] = np.add.reduce(self._table[tokens].astype(np.float64), axis=0)
        return found

    def _tokens(self, text: str) -> bytes:
        pieces = self._pieces
        if pieces is None:
            with self._lock:
                if self._pieces is None:
                    from lamina_engine.embed.pieces import Pieces, load_merges

                    self._pieces = Pieces(load_merges(self._tokenizer))
                pieces = self._pieces
        return b"".join(map(pieces.__getitem__, text.split()))

    def _pool(self, texts: list[bytes]) -> NDArray[np.float32]:
        """Add up and normalise, by `pool_words` or its twin, whichever is sooner done; the bytes are the same."""
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


def _open_table(weights: Path) -> NDArray[np.float16]:
    tensors = map_tensors(weights)
    table = tensors.get("embedding.weight")
    if table is None or table.shape != _SHAPE or table.dtype != np.float16:
        found = ", ".join(f"{name} {tensor.dtype}{tensor.shape}" for name, tensor in tensors.items())
        raise EmbeddingError(
            f"{weights} holds {found or 'nothing'}, expected is embedding.weight float16{_SHAPE}; {_REMEDY}"
        )
    return table
