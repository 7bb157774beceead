"""What every bench may use: sizes, corpora made once, vaults filled once, and a machine stamp beside the times."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import lamina_engine
import lamina_kernels
from bench.corpus import Corpus, load
from bench.harvest import chunks
from bench.machine import stamp
from bench.peers import skip_unless
from bench.systems import Lamina, System
from bench.timing import parse_size, size_name
from lamina_engine.embed.bundled import WordLlamaEmbedder

CACHE = "LAMINA_BENCH_DIR"
TIMED, UNTIMED = "10k", "2k"
DATA = Path(__file__).parents[1].parent / "shared" / "data"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lamina")
    group.addoption(
        "--sizes", metavar="N,N", help=f"Rows, such as 10k,100k,1M; {TIMED} unless given, {UNTIMED} without timing."
    )


def pytest_configure(config: pytest.Config) -> None:
    # the project switches timing off for its tests; who asks for benches alone, or for their results, wants it on
    option = config.option
    asked = ("benchmark_only", "benchmark_json", "benchmark_save", "benchmark_autosave", "benchmark_compare")
    if any(getattr(option, name, None) for name in asked):
        option.benchmark_enable = True


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "size" in metafunc.fixturenames:
        timed = metafunc.config.getoption("benchmark_enable") or not metafunc.config.getoption("benchmark_disable")
        sizes = metafunc.config.getoption("sizes") or (TIMED if timed else UNTIMED)
        try:
            found = [parse_size(text) for text in sizes.split(",")]
        except ValueError as error:
            raise pytest.UsageError(f"--sizes={sizes}: {error}") from error
        metafunc.parametrize("size", found, ids=size_name, scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # what another library says about itself is not a failure of ours
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("default"))


def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    machine_info["stamp"] = stamp(machine_info["cpu"].get("brand_raw") or machine_info["processor"])


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where corpora and filled vaults are kept: ``$LAMINA_BENCH_DIR``, or nowhere beyond this run."""
    kept = os.environ.get(CACHE)
    folder = Path(kept) if kept else tmp_path_factory.mktemp("bench")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def corpora(cache: Path) -> Callable[[int], Corpus]:
    """``corpora(size)``: the corpus of that size."""
    made: dict[int, Corpus] = {}

    def corpus(size: int) -> Corpus:
        if size not in made:
            made[size] = load(cache, size)
        return made[size]

    return corpus


@pytest.fixture
def corpus(corpora: Callable[[int], Corpus], size: int) -> Corpus:
    """The corpus of the bench's size."""
    return corpora(size)


@pytest.fixture(scope="session")
def built(cache: Path, corpora: Callable[[int], Corpus]) -> Iterator[Callable[[type[System], int], Any]]:
    """``built(Kind, size)``: a filled system, one at a time; skips by name where its package is missing."""
    open_now: dict[tuple[type[System], int], System] = {}
    scratch = cache / f"systems-{os.getpid()}"

    def build(kind: type[System], size: int) -> System:
        skip_unless(*kind.packages)
        if size > kind.most_rows:
            pytest.skip(f"{kind.label} is left out above {kind.most_rows:,} rows: building it takes too long")
        if (kind, size) not in open_now:
            for other in list(open_now):
                open_now.pop(other).close()
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir()
            open_now[kind, size] = (
                _lamina(cache, corpora(size)) if kind is Lamina else kind.build(corpora(size), scratch)
            )
        return open_now[kind, size]

    yield build
    for system in open_now.values():
        system.close()
    shutil.rmtree(scratch, ignore_errors=True)


@pytest.fixture(scope="session")
def vaults(cache: Path, corpora: Callable[[int], Corpus]) -> Callable[[int], Path]:
    """``vaults(size)``: the folder of a filled vault, which nobody writes to."""

    def folder(size: int) -> Path:
        filled = _lamina(cache, corpora(size))
        filled.close()
        return filled.vault.path

    return folder


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data, which is no part of the project."""
    if not DATA.is_dir():
        pytest.skip("no real data beside the project")
    return DATA


def _lamina(cache: Path, corpus: Corpus) -> Lamina:
    """Open a filled vault; it is filled anew when the corpus or a line of the engine has changed."""
    sources = [path for package in (lamina_engine, lamina_kernels) for path in Path(package.__path__[0]).rglob("*.py")]
    digest = hashlib.blake2b(b"".join(path.read_bytes() for path in sorted(sources)), digest_size=6).hexdigest()
    folder = cache / f"vault-{corpus.folder.name}-{digest}"
    if not (folder / "filled").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        Lamina.build(corpus, folder).close()
        (folder / "filled").touch()
    return Lamina.open(folder)


@pytest.fixture(scope="session")
def sentences(cache: Path) -> Callable[[int], NDArray[np.float32]]:
    """``sentences(n)``: embeddings of n distinct real sentences by the bundled model, mixed."""

    def vectors(n: int) -> NDArray[np.float32]:
        file = cache / f"sentences-{n}.npy"
        if not file.exists():
            texts: dict[str, None] = {}
            parts = (part.strip() for chunk in chunks() for part in re.split(r"(?<=[.!?])\s+|\n\n", chunk.text))
            for text in islice((part for part in parts if len(part) > 40), 4 * n):
                texts[text] = None
                if len(texts) == n:
                    break
            order = np.random.default_rng(0).permutation(len(texts))
            listed = list(texts)
            mixed = [listed[i] for i in order.tolist()]
            np.save(file, WordLlamaEmbedder().embed_documents(mixed))
        found: NDArray[np.float32] = np.load(file)
        if len(found) < n:
            pytest.skip(f"this machine has {len(found):,} distinct sentences of documentation, fewer than {n:,}")
        return found

    return vectors
