"""MiniLM's encoder as an ONNX graph: BERT's layers over one sequence of tokens, mean pooling, unit length.

One sequence, without batch or padding: a vector then depends on its text alone, and needs no mask. Weights stay as
they lie in the safetensors file (output × input), which is what ``Gemm`` calls ``transB``. See [1]_ for the encoder,
[2]_ for the pooling.

References
----------
.. [1] Devlin, Chang, Lee, Toutanova: BERT, 2019, section 3.
.. [2] Reimers, Gurevych: Sentence-BERT, 2019, section 3.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_OPSET = 17  # the first with LayerNormalization
_IR_VERSION = 8  # what onnxruntime 1.18 and later read


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
    """Return a serialised ONNX model: int64 ``ids`` (s,) in, unit float32 ``vector`` (width,) out.

    Parameters
    ----------
    tensors : dict of str to ndarray
        Weights by their names in BERT checkpoints (``encoder.layer.0.attention.self.query.weight``, …).
    shape : Shape or None
        Sizes; None means MiniLM-L6's.

    Raises
    ------
    KeyError
        When a weight is missing.
    """
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
