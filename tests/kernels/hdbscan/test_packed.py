""""""

from __future__ import annotations

from importlib import import_module
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels._jit import _jit_disabled
from lamina_kernels.hdbscan import packed as module
from lamina_kernels.hdbscan import products
from lamina_kernels.hdbscan.packed import (
    _BLOCK_ROWS,
    Arithmetic,
    Packed,
    fastest,
    gather,
    make_frame,
    may_use_tiles,
    pack,
    pack_others,
    pack_some,
    repack,
    score,
)
from lamina_kernels.layouts import F32, F64, Points
from lamina_kernels.simd import instructions, processor_features
from lamina_kernels.threads import ThreadTeam

PORTABLE: tuple[Arithmetic, ...] = ("float32", "int16-portable", "int8-portable")
HERE: tuple[Arithmetic, ...] = (*PORTABLE, "int16") if fastest() != "float32" or _jit_disabled() else PORTABLE


def points_of(rows: F32, *, unit: bool) -> Points:
    lengths = np.sqrt((rows.astype(np.float64) ** 2).sum(1))
    return Points(rows.reshape(-1), 1.0 / lengths if unit else np.ones(len(rows)), rows.shape[1])


def some_points(seed: int, n: int, d: int, *, unit: bool) -> Points:
    rng = np.random.default_rng(seed)
    return points_of((rng.standard_normal((n, d)) + 3.0).astype(np.float32), unit=unit)


def estimates(packed: Packed, rows: np.ndarray) -> F32:
    n = packed.margin.size
    width = -(-n // packed.columns) * packed.columns
    block = gather(packed, rows)
    out = np.zeros((block.size // (packed.groups + 2), width), np.float32)
    score(packed, block, 0, n, out)
    return out


def true_scores(points: Points, scale: float) -> F64:
    rows = points.values.reshape(points.factors.size, -1) * points.factors[:, None]
    return np.asarray(-0.5 * (scale**2) * ((rows[:, None] - rows[None]) ** 2).sum(2))


@pytest.mark.parametrize("arithmetic", HERE)
@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize(("n", "d"), [(1, 8), (2, 8), (17, 16), (70, 24)])
def test_no_estimate_is_further_off_than_the_margin(arithmetic: Arithmetic, unit: bool, n: int, d: int) -> None:
    points = some_points(n, n, d, unit=unit)
    packed = pack(points, arithmetic, centred=not unit)
    got = estimates(packed, np.arange(n))
    error = np.abs(got[:n, :n] - true_scores(points, packed.scale))
    assert (error <= packed.margin[:, None]).all()
    assert (got[:n, n:] == -np.inf).all()  # nothing is near the columns after the last row
    assert packed.margin.max() < {"float32": 2e-5, "int16": 2e-3, "int16-portable": 2e-3}.get(arithmetic, 0.1)


@pytest.mark.parametrize("arithmetic", HERE)
def test_every_arithmetic_equals_its_numpy_twin(arithmetic: Arithmetic) -> None:
    packed = pack(some_points(5, 40, 16, unit=True), arithmetic, centred=False)
    rows = np.array([3, 39, 0, 7, 7, 21, 12])
    block, got = gather(packed, rows), estimates(packed, rows)
    ref = np.zeros_like(got)
    twin = getattr(products, "_" + arithmetic.replace("-", "_"))
    flat = ref.reshape(-1)
    for panel in range(-(-40 // packed.columns)):
        for b in range(len(ref) // 6):
            twin(
                block, b * 6 * (packed.groups + 2), packed.words, panel * packed.panel_words, packed.groups,
                flat, b * 6 * ref.shape[1] + panel * packed.columns, ref.shape[1],
            )  # fmt: skip
    # sums of integers are exact; those of float32 depend on their order
    np.testing.assert_allclose(got, ref, rtol=0, atol=1e-6 if arithmetic == "float32" else 1e-7)


@pytest.mark.skipif("int16" not in HERE, reason="this processor has no AVX2")
def test_the_instruction_and_its_portable_form_give_equal_bits() -> None:
    points = some_points(6, 50, 24, unit=True)
    rows = np.arange(50)
    ref = estimates(pack(points, "int16-portable", centred=False), rows)
    assert estimates(pack(points, "int16", centred=False), rows).tobytes() == ref.tobytes()


@pytest.mark.skipif(fastest() != "int8", reason="this processor has no AVX-512 VNNI")
def test_eight_bit_instruction_and_its_portable_form_give_equal_bits() -> None:
    points = some_points(7, 150, 24, unit=True)
    ref = estimates(pack(points, "int8-portable", centred=False), np.arange(150))
    assert estimates(pack(points, "int8", centred=False), np.arange(150)).tobytes() == ref.tobytes()


@pytest.mark.skipif(_jit_disabled(), reason="asks about compiled code")
def test_eight_bit_products_compile_to_the_instruction_they_are_for() -> None:
    llvm = import_module("llvmlite.binding")

    ir = instructions()
    if "x86" not in llvm.get_process_triple():
        pytest.skip("LLVM of this machine builds for another family of processors")
    i64 = ir.IntType(64)
    module = ir.Module()
    module.triple = llvm.get_process_triple()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [i64] * 5), "block")
    builder = ir.IRBuilder(function.append_basic_block())
    a, b, groups, out, stride = function.args
    sums = products._sum_products(builder, a, b, groups, products.WIDE, products._quads_x86, floating=False)
    products._write_scores(builder, sums, (a, b, groups), (out, stride), products.WIDE, floating=False)
    builder.ret_void()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(module.triple).create_target_machine(
        cpu="icelake-server", features="+avx512f,+avx512bw,+avx512vnni", opt=3
    )
    assembly = machine.emit_assembly(llvm.parse_assembly(str(module)))
    assert assembly.count("vpdpbusd") == 24  # six rows by four vectors, all in registers
    loop = assembly[: assembly.rindex("vpdpbusd")]
    assert "(%rsp)" not in loop[loop.index("vpdpbusd") :]


@pytest.mark.skipif(not may_use_tiles(), reason="this processor has no AMX, or the system keeps it")
@pytest.mark.parametrize(("n", "d"), [(1, 64), (150, 64), (70, 256)])
def test_tiles_of_bytes_give_the_bits_of_the_portable_form(n: int, d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    points = some_points(8, n, d, unit=True)
    rows = np.random.default_rng(8).permutation(n)
    ref = estimates(pack(points, "int8-portable", centred=False), rows)[:n]
    packed = pack(points, "int8", centred=False)
    assert packed.tiled
    assert estimates(packed, rows)[:n].tobytes() == ref.tobytes()
    monkeypatch.setattr(module, "may_use_tiles", lambda: False)
    again = pack(points, "int8", centred=False)
    assert not again.tiled
    assert estimates(again, rows)[:n].tobytes() == ref.tobytes()


def test_rows_that_no_tile_holds_whole_take_the_other_form() -> None:
    assert not pack(some_points(9, 20, 32, unit=True), "int8", centred=False).tiled


def test_blocks_of_tiles_and_their_numpy_twin_give_the_bits_of_the_portable_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points, rows = some_points(10, 100, 128, unit=True), np.array([99, 3, 3, 50, 0, 64, 63])
    ref = estimates(pack(points, "int8-portable", centred=False), rows)[: rows.size]
    monkeypatch.setattr(module, "may_use_tiles", lambda: True)
    packed = pack(points, "int8", centred=False)
    block = gather(packed, rows)
    assert block.size == products.TILED_ROWS * (packed.groups + 2)
    got = np.zeros((products.TILED_ROWS, ref.shape[1]), np.float32)
    for panel in range(2):
        products._int8_tiled(
            block, 0, packed.words, panel * packed.panel_words, packed.groups,
            got.reshape(-1), panel * packed.columns, got.shape[1],
        )  # fmt: skip
    assert got[: rows.size].tobytes() == ref.tobytes()


def test_tiles_need_processor_and_system(monkeypatch: pytest.MonkeyPatch) -> None:
    for features, granted, ref in [
        ({"amx-tile", "amx-int8"}, True, True), ({"amx-tile", "amx-int8"}, False, False), ({"amx-tile"}, True, False),
    ]:  # fmt: skip
        monkeypatch.setattr("lamina_kernels.simd.processor_features", lambda features=features: features)
        monkeypatch.setattr("lamina_kernels.simd.grant_tiles", lambda granted=granted: granted)
        assert may_use_tiles.__wrapped__() == ref


@given(st.integers(0, 1000), st.sampled_from(PORTABLE))
def test_repacked_rows_are_the_same_rows(seed: int, arithmetic: Arithmetic) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    points = some_points(seed, n, 8, unit=True)
    order = rng.permutation(n)
    got = repack(pack(points, arithmetic, centred=False), order)
    moved = Points(points.values.reshape(n, -1)[order].reshape(-1), points.factors[order], points.size)
    assert got.words.tobytes() == pack(moved, arithmetic, centred=False).words.tobytes()


def test_all_equal_rows_have_no_length_once_centred() -> None:
    packed = pack(Points(np.full(24, 7.0, np.float32), np.ones(3), 8), "int16-portable", centred=True)
    assert packed.scale == 1.0
    assert np.abs(estimates(packed, np.arange(3))[:3, :3]).max() <= packed.margin.max()


def test_arithmetic_follows_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "sse2" in processor_features() or fastest() == "float32"
    for features, ref in [
        ({"avx512f", "avx512bw", "avx512vnni", "avx2"}, "int8"), ({"avx2", "avx512f"}, "int16"), (set[str](), "float32"),
    ]:  # fmt: skip
        monkeypatch.setattr("lamina_kernels.simd.processor_features", lambda features=features: features)
        assert fastest.__wrapped__() == ref
    assert set(module._KINDS) == set(get_args(Arithmetic))


def uneven_points(n: int) -> Points:
    rng = np.random.default_rng(1)
    return Points(rng.standard_normal(n * 16).astype(np.float32), rng.uniform(0.5, 1.0, n), 16)


@pytest.mark.parametrize("arithmetic", PORTABLE)
@pytest.mark.parametrize("centred", [True, False])
def test_all_rows_in_their_order_are_packed_as_before(arithmetic: Arithmetic, centred: bool) -> None:
    points = uneven_points(70)
    ref = pack(points, arithmetic, centred=centred)
    got = pack_some(make_frame(points, arithmetic, centred=centred), points, np.arange(70))
    assert got.words.tobytes() == ref.words.tobytes()
    assert got.margin.tobytes() == ref.margin.tobytes()
    assert got._replace(words=ref.words, margin=ref.margin) == ref


@pytest.mark.parametrize("arithmetic", PORTABLE)
def test_an_order_and_threads(arithmetic: Arithmetic) -> None:
    points = uneven_points(_BLOCK_ROWS + 40)
    order = np.random.default_rng(2).permutation(_BLOCK_ROWS + 40)
    sorted_points = Points(points.values.reshape(-1, 16)[order].reshape(-1), points.factors[order], 16)
    frame = make_frame(points, arithmetic, centred=False)
    ref = pack(sorted_points, arithmetic, centred=False)
    for team in (None, ThreadTeam(2)):
        got = pack_some(frame, points, order, team)
        assert got.words.tobytes() == ref.words.tobytes()
        assert got.margin.tobytes() == ref.margin.tobytes()


@pytest.mark.parametrize("arithmetic", PORTABLE)
def test_rows_of_the_same_space_are_compared(arithmetic: Arithmetic) -> None:
    points = uneven_points(30)
    frame = make_frame(points, arithmetic, centred=True)
    others = np.random.default_rng(3).standard_normal((5, 16)).astype(np.float32)
    packed, columns = pack_some(frame, points, np.arange(30)), pack_others(frame, others)
    out = np.empty((30, columns.words.size // (columns.groups + 3)), np.float32)
    score(columns, gather(packed, np.arange(30)), 0, 5, out)
    rows = points.values.reshape(-1, 16) * points.factors[:, None]
    ref = -0.5 * frame.scale**2 * ((rows[:, None] - others[None]) ** 2).sum(axis=2)
    assert np.abs(out[:, :5] - ref).max() < (0.05 if arithmetic.startswith("int8") else 1e-3)
