"""Numba wrapper: the lazy ``kernel`` decorator, warming, and the cache folder.

Importing a kernel costs nothing: the decorator keeps the plain function, and Numba is imported and the kernel
compiled at its first call (or on a thread, by `warm`). Three rules follow from facts about Numba:

* A kernel gives *example arguments*. They fix its signatures: C-contiguous arrays, read-only unless the parameter's
  name begins with ``out``; then compilation is closed. A read-only Arrow view and a writable array both fit the one
  signature, and a strided array or another dtype is a TypeError instead of a silent further compilation.
* A kernel without examples is a helper of other kernels and is compiled into them.
* Numba's own cache looks only at the file a kernel is in, and would keep old machine code when a helper in another
  file changes. So the cache folder is named by a digest over all kernel sources, and is set only while decorating.
  It lies below the user's cache folder, or below ``NUMBA_CACHE_DIR``; a folder that cannot be written means no cache.

``NUMBA_DISABLE_JIT=1`` runs the plain functions, without importing Numba.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, ParamSpec, Protocol, TypeVar, cast, overload

import numpy as np

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher
    from numba.core.types import Type

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")
Example = Callable[[], tuple[object, ...]]

logger = logging.getLogger(__name__)

# Held for the moment of decorating only (Numba's cache folder is a process-wide setting), never while compiling:
# a thread that compiles holds Numba's own lock and may ask for another kernel's dispatcher.
_decorating = threading.Lock()

loading = threading.RLock()
"""Held while a kernel is loaded or compiled, one at a time as Numba does. Whoever forks takes it before: Numba's own lock,
held by a thread that the child does not have, would stay held there."""


class Kernel(Generic[P, R_co]):
    """A function that is compiled at its first call; made by `kernel`.

    Attributes
    ----------
    py_func
        The plain Python function.
    """

    def __init__(self, py_func: Callable[P, R_co], examples: tuple[Example, ...], fastmath: frozenset[str]) -> None:
        self.py_func = py_func
        self._examples = examples
        self._fastmath = fastmath
        self._entry: Callable[P, R_co] | None = None
        self._dispatcher: Dispatcher | None = None
        functools.update_wrapper(self, py_func)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        entry = self._entry
        if entry is None:
            entry = self._open()
        return entry(*args, **kwargs)

    @property
    def ready(self) -> bool:
        """True once a call needs no import and no compilation."""
        return self._entry is not None

    @property
    def signatures(self) -> list[tuple[Type, ...]]:
        """The compiled signatures; empty before the first call and with the JIT off."""
        return [] if self._dispatcher is None else list(self._dispatcher.signatures)

    def warm(self) -> None:
        """Compile (or load from the cache) and call once with each of the example arguments."""
        for example in self._examples:
            cast("Callable[..., R_co]", self)(*example())

    @property
    def _numba_type_(self) -> Type:
        """Numba type of the dispatcher, for kernels that call this one."""
        from numba import types

        return types.Dispatcher(self._helper())

    def _helper(self) -> Dispatcher:
        with _decorating:
            if self._dispatcher is None:
                self._dispatcher = self._decorate(None)
            return self._dispatcher

    def _open(self) -> Callable[P, R_co]:
        with loading:
            if self._entry is None:
                self._entry = self.py_func if _jit_disabled() else self._compile()
            return self._entry

    def _compile(self) -> Callable[P, R_co]:
        if _settings().DISABLE_JIT:  # set in the program or in Numba's own settings file
            return self.py_func
        if not self._examples:
            return cast("Callable[P, R_co]", self._helper())
        folder = _cache_folder()
        if folder is not None:
            # A full disk or a torn cache file surfaces as almost any exception here, and must not cost the
            # answer. An error in the kernel itself comes again below.
            with contextlib.suppress(Exception):
                return self._specialize(folder)
        return self._specialize(None)

    def _specialize(self, folder: Path | None) -> Callable[P, R_co]:
        with _decorating:
            dispatcher = self._dispatcher = self._decorate(folder)
        names = tuple(dispatcher.py_func.__code__.co_varnames)
        tuples = set[int]()
        for example in self._examples:
            args = example()
            tuples.update(place for place, arg in enumerate(args) if _holds_array(arg))
            dispatcher.compile(_signature(names, args))
        dispatcher.disable_compile()
        return _freezing(dispatcher, sorted(tuples)) if tuples else cast("Callable[P, R_co]", dispatcher)

    def _decorate(self, folder: Path | None) -> Dispatcher:
        """Make the dispatcher; Numba reads its cache folder here and never again."""
        import numba

        settings = _settings()
        before = settings.CACHE_DIR
        try:
            if folder is not None:
                settings.CACHE_DIR = str(folder)
            decorate = numba.njit(
                nogil=True,
                cache=folder is not None,
                error_model="numpy",  # Python's would test every division and could raise
                fastmath=set(self._fastmath) or False,
            )
            return cast("Dispatcher", decorate(self.py_func))
        finally:
            settings.CACHE_DIR = before


@overload
def kernel(function: Callable[P, R], /) -> Kernel[P, R]: ...
@overload
def kernel(
    *, examples: Iterable[Example] = (), fastmath: Iterable[str] = ()
) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...
def kernel(
    function: Callable[P, R] | None = None, /, *, examples: Iterable[Example] = (), fastmath: Iterable[str] = ()
) -> Kernel[P, R] | Callable[[Callable[P, R]], Kernel[P, R]]:
    """Compile a function on its first call: nopython, without the GIL, cached, strict floats.

    Parameters
    ----------
    function : callable
        The kernel: arrays and numbers in, results into arguments whose names begin with ``out``.
    examples : iterable of callables
        Each returns arguments of one signature, small and valid (they are also run when warming). Scalars convert
        as in Numba; array dtypes are exact. Without examples the kernel is a helper for other kernels.
    fastmath : iterable of str
        LLVM flags by name, such as ``"reassoc"``; each use says why in a comment beside it.

    Returns
    -------
    Kernel
        Called like the function; a kernel may call other kernels.
    """
    if function is not None:
        return Kernel(function, (), frozenset())
    return lambda plain: Kernel(plain, tuple(examples), frozenset(fastmath))


def is_ready(kernel: Kernel[..., object]) -> bool:
    """Return True if ``kernel`` is compiled; until then the NumPy twin serves small inputs."""
    return kernel.ready


def compiled_before(kernels: Iterable[Kernel[..., object]]) -> bool:
    """Return True if each kernel is ready or in the cache folder. Imports Numba."""
    pending = [each for each in kernels if not each.ready]
    if not pending or _jit_disabled():
        return True
    folder = _cache_folder()
    if folder is None:
        return False
    # Numba's name for a function's index: its file's stem, its name, and the line it begins at
    found = {path.name.split("-")[0] for path in folder.rglob("*.nbi")}
    return all(f"{each.py_func.__module__.rpartition('.')[2]}.{each.py_func.__name__}" in found for each in pending)


def warm(kernels: Iterable[Kernel[..., object]]) -> threading.Thread:
    """Make kernels ready on a background thread, in the order given.

    Returns
    -------
    threading.Thread
        Started; join it to wait. A process that exits meanwhile waits for the one kernel in hand: LLVM must not be
        compiling while its library is unloaded.
    """
    pending = tuple(kernels)
    stop = threading.Event()

    def run() -> None:
        for each in pending:
            if stop.is_set():
                break
            try:
                each.warm()
            except Exception:  # the first call that needs it says what is wrong, to whoever calls
                logger.debug("%s could not be made ready ahead", each.py_func.__name__, exc_info=True)
                break
        atexit.unregister(finish)

    def finish() -> None:
        stop.set()
        thread.join()

    thread = threading.Thread(target=run, name="lamina-warm", daemon=True)
    atexit.register(finish)
    thread.start()
    return thread


class _Settings(Protocol):
    """Typed view of ``numba.config``, whose names Numba fills at run time."""

    CACHE_DIR: str
    DISABLE_JIT: int


def _settings() -> _Settings:
    from numba.core import config

    return cast("_Settings", config)


def _jit_disabled() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0").strip() not in ("", "0")


def _signature(names: tuple[str, ...], args: tuple[object, ...]) -> tuple[Type, ...]:
    """Return the Numba types of example arguments, with every array read-only but the outputs."""
    import numba

    return tuple(
        kind if name.startswith("out") else _read_only(kind)
        for name, kind in zip(names, map(numba.typeof, args), strict=False)
    )


def _read_only(kind: Type) -> Type:
    from numba import types

    if isinstance(kind, types.Array):
        return kind.copy(readonly=True)
    if isinstance(kind, (types.NamedTuple, types.NamedUniTuple)):
        items = [_read_only(item) for item in kind.types]
        return cast("Type", types.BaseTuple.from_types(items, kind.instance_class))  # type: ignore[no-untyped-call]
    return kind


def _freezing(entry: Callable[P, R], places: Sequence[int]) -> Callable[P, R]:
    """Pass arrays in tuple arguments read-only; Numba does so only outside tuples."""

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not kwargs:  # as a rule, and the blocks of a vault are read-only
            for place in places:
                if _is_writeable(args[place]):
                    break
            else:
                return entry(*args, **kwargs)
        positional = [_frozen(arg) for arg in args]
        keywords = {name: _frozen(arg) for name, arg in kwargs.items()}
        return cast("Callable[..., R]", entry)(*positional, **keywords)

    return call


def _holds_array(arg: object) -> bool:
    return isinstance(arg, tuple) and any(isinstance(item, np.ndarray) for item in arg)


def _is_writeable(arg: object) -> bool:
    """Return True if an argument is a tuple with an array that could be written to."""
    if isinstance(arg, tuple):
        for item in arg:
            if isinstance(item, np.ndarray) and item.flags.writeable:
                return True
    return False


def _frozen(arg: object) -> object:
    if not _is_writeable(arg):
        return arg
    items: list[object] = []
    for item in cast("tuple[object, ...]", arg):
        if isinstance(item, np.ndarray) and item.flags.writeable:
            item = item.view()
            item.flags.writeable = False
        items.append(item)
    return cast("Callable[..., object]", type(arg))(*items)


@functools.cache
def _cache_folder() -> Path | None:
    """Return the writable cache folder of this version of the kernels, or None."""
    import tempfile  # 6 ms, which only a compilation repays

    chosen = os.environ.get("NUMBA_CACHE_DIR")
    try:
        folder = (Path(chosen) if chosen else _user_cache() / "lamina" / "numba") / _digest()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # RuntimeError: the user has no home folder
        return None


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _digest() -> str:
    """Hash the sources, Numba's version and the settings missing from Numba's own key."""
    import numba

    state = hashlib.sha256(numba.__version__.encode())
    for setting in ("BOUNDSCHECK", "OPT", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE"):
        state.update(f"\0{setting}={getattr(_settings(), setting, None)}".encode())
    package = Path(__file__).parent
    for source in sorted(package.rglob("*.py")):
        state.update(b"\0" + source.relative_to(package).as_posix().encode() + b"\0" + source.read_bytes())
    return state.hexdigest()[:16]
