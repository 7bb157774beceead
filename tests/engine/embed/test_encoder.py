from __future__ import annotations

import numpy as np
import pytest

from lamina_engine.embed.encoder import Shape, build_encoder
from tests.oracles.minilm import embed

onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime (lamina[quality]) is not installed")
pytest.importorskip("onnx", reason="onnx (lamina[quality]) is not installed")

SMALL = Shape(layers=2, heads=3, width=12)


def weights(seed: int, *, inner: int = 20, vocabulary: int = 30, positions: int = 16) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    width = SMALL.width
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (vocabulary, width),
        "embeddings.position_embeddings.weight": (positions, width),
        "embeddings.token_type_embeddings.weight": (2, width),
        "embeddings.LayerNorm.weight": (width,),
        "embeddings.LayerNorm.bias": (width,),
    }
    for layer in range(SMALL.layers):
        name = f"encoder.layer.{layer}"
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            shapes |= {f"{name}.{part}.weight": (width, width), f"{name}.{part}.bias": (width,)}
        shapes |= {f"{name}.intermediate.dense.weight": (inner, width), f"{name}.intermediate.dense.bias": (inner,)}
        shapes |= {f"{name}.output.dense.weight": (width, inner), f"{name}.output.dense.bias": (width,)}
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{name}.{part}.weight": (width,), f"{name}.{part}.bias": (width,)}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("n", [1, 2, 16])
def test_equals_the_oracle(n: int) -> None:
    tensors = weights(n)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(build_encoder(tensors, SMALL), options, providers=["CPUExecutionProvider"])
    ids = np.random.default_rng(n).integers(0, 30, n)
    (got,) = session.run(["vector"], {"ids": ids})
    ref = embed(tensors, ids.tolist(), layers=SMALL.layers, heads=SMALL.heads)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, ref, atol=1e-5)


def test_same_weights_same_bytes_and_unused_weights_stay_out() -> None:
    tensors = weights(0)
    ref = build_encoder(tensors, SMALL)
    assert build_encoder(dict(reversed(tensors.items())), SMALL) == ref
    assert build_encoder(tensors | {"pooler.dense.bias": np.ones(12, np.float32)}, SMALL) == ref


def test_a_missing_weight_is_named() -> None:
    tensors = weights(0)
    del tensors["encoder.layer.1.output.dense.bias"]
    with pytest.raises(KeyError, match=r"encoder\.layer\.1\.output\.dense\.bias"):
        build_encoder(tensors, SMALL)
