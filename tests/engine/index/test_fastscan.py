"""Each case is a process of its own: what matters is that FAISS's package has not been imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lamina_engine.index.quantised import QuantisedIndex
from lamina_engine.index.vectors import VectorBlocks

DIM = 32

CHILD = """
import sys, pathlib, numpy as np
from lamina_engine.index import fastscan
from lamina_engine.index.quantised import QuantisedIndex, VectorsDamaged
folder = pathlib.Path(sys.argv[1])
{before}
index = QuantisedIndex.open(folder / "index")
queries = np.load(folder / "queries.npy")
found = [index.search(query, 50) for query in queries]
assert ("faiss" in sys.modules) is {imported}, sorted(sys.modules)
np.savez(folder / "found.npz", rows=[each.rows for each in found], scores=[each.scores for each in found])
{after}
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, QuantisedIndex]:
    random = np.random.default_rng(5)
    matrix = random.standard_normal((16_500, DIM), np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    index = QuantisedIndex.build(VectorBlocks([matrix], DIM), len(matrix))
    assert index is not None
    folder = tmp_path_factory.mktemp("fastscan")
    index.save(folder / "index")
    np.save(folder / "queries.npy", matrix[:20] + np.float32(0.1))
    np.save(folder / "matrix.npy", np.concatenate([matrix, matrix[:5_000]]))
    return folder, index


def run(folder: Path, *, before: str = "", after: str = "", imported: bool = False) -> None:
    code = CHILD.format(before=before, after=after, imported=imported)
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")  # SWIG tells of leaks on stdout


def assert_equal_answers(folder: Path, index: QuantisedIndex) -> None:
    got = np.load(folder / "found.npz")
    for at, query in enumerate(np.load(folder / "queries.npy")):
        ref = index.search(query, 50)
        np.testing.assert_array_equal(got["rows"][at], ref.rows)
        np.testing.assert_array_equal(got["scores"][at], ref.scores)


def test_the_extension_alone_gives_what_the_package_gives(saved: tuple[Path, QuantisedIndex]) -> None:
    run(saved[0])
    assert_equal_answers(*saved)


@pytest.mark.parametrize(
    "before",
    [
        "import faiss",
        "fastscan._NEEDED = (*fastscan._NEEDED, 'of_a_later_version')",
        "fastscan._EXTENSION = 'of_another_name'",
        "fastscan._shares_memory = lambda extension: False",
        "import os; listed = os.listdir; os.listdir = lambda folder: [*listed(folder), '_swigfaiss_avx2.so']",
    ],
)
def test_where_the_package_is_laid_out_otherwise_it_is_imported(
    saved: tuple[Path, QuantisedIndex], before: str
) -> None:
    run(saved[0], before=before, imported=True)
    assert_equal_answers(*saved)


def test_an_index_read_by_the_extension_alone_can_be_saved_and_extended(saved: tuple[Path, QuantisedIndex]) -> None:
    folder, index = saved
    after = f"""
from lamina_engine.index.vectors import VectorBlocks
matrix = np.load(folder / "matrix.npy")
index.save(folder / "again")
longer = index.extend(VectorBlocks([matrix], {DIM}), len(matrix))
longer.save(folder / "longer")
import faiss
assert faiss.IndexFlatL2(4).d == 4
again = QuantisedIndex.open(folder / "again")  # beside FAISS's classes
assert type(again._pieces[0][1]) is fastscan.Scan
assert (again.search(queries[0], 50).scores == index.search(queries[0], 50).scores).all()
"""
    run(folder, after=after)
    assert (folder / "again").read_bytes() == (folder / "index").read_bytes()
    matrix = np.load(folder / "matrix.npy")
    longer = index.extend(VectorBlocks([matrix], DIM), len(matrix))
    assert longer is not None
    longer.save(folder / "ref")
    assert (folder / "longer").read_bytes() == (folder / "ref").read_bytes()


def test_a_table_of_another_layout_is_noticed(saved: tuple[Path, QuantisedIndex]) -> None:
    before = """
import ctypes
assert fastscan._shares_memory(fastscan._find_extension())
class Other(ctypes.Structure):
    _fields_ = (("used", ctypes.c_size_t), ("address", ctypes.c_void_p), ("allocated", ctypes.c_size_t))
fastscan._Table = Other
assert not fastscan._shares_memory(fastscan._find_extension())
"""
    run(saved[0], before=before, imported=True)
    assert_equal_answers(*saved)


def test_indexes_come_and_go_without_their_codes(saved: tuple[Path, QuantisedIndex]) -> None:
    after = """
import gc
codes = index._codes
ref = bytes(codes)
def own():
    if sys.platform != "linux":
        return 0
    return int(next(line for line in open("/proc/self/status") if line.startswith("RssAnon")).split()[1])
for number in range(300):
    QuantisedIndex.open(folder / "index").search(queries[0], 5)
    if number == 20:
        begun = own()
del index
gc.collect()
assert bytes(codes) == ref
assert own() - begun < 4_096, own() - begun  # the codes of 300 indexes take 37 MiB
"""
    run(saved[0], after=after)


def test_threads_that_read_at_once_and_an_import_beside_them(saved: tuple[Path, QuantisedIndex]) -> None:
    before = """
import threading
def read():
    QuantisedIndex.open(folder / "index").search(np.load(folder / "queries.npy")[0], 5)
def load():
    import faiss
    assert faiss.IndexFlatL2(4).d == 4
threads = [threading.Thread(target=each) for each in (read, read, load, read, load)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    run(saved[0], before=before, imported=True)
    assert_equal_answers(*saved)
