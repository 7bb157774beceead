"""What every test may use: a clock that stands still, a fresh vault, the real data, nobody's settings."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from lamina import FixedClock, Vault

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
NOW = "2026-03-01T12:00:00Z"


def folder_in_memory() -> Path | None:
    """Return where the system keeps files in memory, if there is room: containers often have 64 MB."""
    folder = Path("/dev/shm")
    if not folder.is_dir() or not os.access(folder, os.W_OK) or shutil.disk_usage(folder).free < 4 * 2**30:
        return None
    return folder


# Each commit waits for the disk several times. No test really cuts the power, so `tmp_path` needs none.
MEMORY = folder_in_memory()
if MEMORY is not None:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# no deadlines: a busy machine is not a wrong answer
settings.register_profile("default", deadline=None, max_examples=40)
settings.register_profile("ci", deadline=None, max_examples=60, derandomize=True, print_blob=True)
settings.register_profile("nightly", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default"))

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # started in the background of a script: children would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Leave with the tests' own status where Ray was in this process.

    Threads of Ray and gRPC outlive ``ray.shutdown()``, and what they use is freed as a process ends. One whose tests had all passed
    ended with a segmentation fault in some thread.
    """
    here = os.getpid()

    def leave() -> None:
        if "ray" in sys.modules and os.getpid() == here:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(session.exitstatus)

    atexit.register(leave)  # before what tests import, so that it runs after the handlers of that


@pytest.fixture(scope="session", autouse=True)
def settings_of_nobody() -> Iterator[None]:
    """Take out of the environment what would change an answer, the user's own vault and settings included."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            settings = ("DECAY_", "FRESHNESS_", "INJECTION_", "BOOTSTRAP_TOKEN_BUDGET", "MAX_RETRIEVALS")
            if name.startswith(("LAMINA_VAULT", "LAMINA_EMBEDDER", *settings)):
                patch.delenv(name)
        with tempfile.TemporaryDirectory() as nobody:
            for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):  # not HOME: compiled kernels lie below it
                patch.setenv(name, os.path.join(nobody, name.lower()))  # noqa: PTH118
                Path(nobody, name.lower()).mkdir()
            yield


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data, which is no part of the project."""
    if not DATA.is_dir():
        pytest.skip(f"no real data at {DATA.relative_to(ROOT.parent)} beside the project")
    return DATA


@pytest.fixture
def clock() -> FixedClock:
    from lamina import FixedClock

    return FixedClock(NOW)


@pytest.fixture
def vault(tmp_path: Path, clock: FixedClock) -> Iterator[Vault]:
    """An empty vault with the bundled model."""
    import lamina

    with lamina.open(tmp_path / "vault", create=True, clock=clock) as opened:
        yield opened


@pytest.fixture
def lexical_vault(tmp_path: Path, clock: FixedClock) -> Iterator[Vault]:
    """An empty vault that is searched by words alone."""
    import lamina

    with lamina.open(tmp_path / "vault", create=True, clock=clock, embedder="none") as opened:
        yield opened


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long forms run only when asked for: ``pytest -m slow``."""
    if "slow" not in str(config.getoption("-m")):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="long form; run with -m slow"))


@pytest.fixture(scope="module")
def quick_folder() -> Iterator[Path]:
    """A folder in memory where the system has one, for tests that cannot have a `tmp_path` each."""
    with tempfile.TemporaryDirectory(prefix="lamina-test-", dir=MEMORY) as name:
        yield Path(name)


@pytest.fixture
def quick_path(quick_folder: Path) -> Path:
    """A folder of a test's own in memory."""
    return Path(tempfile.mkdtemp(dir=quick_folder))
