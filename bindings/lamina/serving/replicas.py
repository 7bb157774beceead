"""Replicas of served vaults: a deployment of Ray Serve, by vault, and one by shard.

Ray Serve starts them, starts them again where they die, spreads calls, and refuses those that are too many.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import lamina
from lamina.serving import calls
from lamina.serving.client import INCOMPLETE, SIGN, TOKEN_VARIABLE
from lamina_engine.errors import CallTimedOut, ClusterUnreachable, InvalidArgument, MissingExtra, VaultNotFound
from lamina_engine.executor import join_cluster
from lamina_engine.shards import opening
from lamina_engine.shards.asking import asking_elsewhere
from lamina_engine.shards.layout import shard_name
from lamina_engine.shards.remote import Answering, Version, VersionGone

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

APPLICATION: Final = "lamina"
PORT: Final = 8000
TIMEOUT_S: Final = 30.0
AT_ONCE: Final = 4
"""Calls that a replica works on; others wait, up to `WAITING` of them at each caller's proxy."""
WAITING: Final = 64
SHARD_CALLS: Final = 16
"""Calls that a replica of shards works on."""
OPEN_SHARDS: Final = 8
"""Shards that a replica of shards keeps open."""
_AGAIN_S: Final = 0.2
OPEN_VAULTS: Final = 8
"""Vaults that a replica keeps open; of more, the one asked longest ago is closed."""
_INCOMPLETE: Final = "?incomplete"
"""Ends the name of a vault that is opened to answer without shards that are missing: whoever did not wish that has another."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class ShardReplica:
    """Process that answers for shards, each opened read-only when it is first asked for."""

    def __init__(self, vaults: Mapping[str, str]) -> None:
        from ray import serve

        self._vaults, self._threads = dict(vaults), ThreadPoolExecutor(SHARD_CALLS, "lamina-shard")

        async def open_shard(name: str) -> Answering:
            vault, _, number = name.rpartition("/")
            return await asyncio.get_running_loop().run_in_executor(
                self._threads, opening.open_answering, self._vaults[vault], int(number)
            )

        self._opened: Any = serve.multiplexed(max_num_models_per_replica=OPEN_SHARDS)(open_shard)

    async def __call__(self, version: Version | None, call: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        """Return True and the answer of a shard, or False and the bytes of its error.

        For `VersionGone` they are None.
        """
        from ray import serve

        try:
            shard = await self._opened(serve.get_multiplexed_model_id())
            loop = asyncio.get_running_loop()
            return True, await loop.run_in_executor(self._threads, shard.answer, version, call, arguments)
        except VersionGone:
            return False, None
        except Exception as error:  # a bug is an answer, too
            return False, calls.encode_error(error)


class ShardHandles:
    """Shards as the replicas of vaults ask them."""

    def __init__(self, handle: Any, name: str, limit_s: float) -> None:
        self._handle, self._name, self._limit_s = handle, name, limit_s
        self._shards: dict[int, Any] = {}

    def ask(self, number: int, version: Version | None, call: str, arguments: tuple[Any, ...]) -> Any:
        """Return what a shard answers; another replica is asked where one dies."""
        from ray.exceptions import RayError
        from ray.serve.exceptions import RayServeException

        shard = self._shards.get(number)
        if shard is None:
            shard = self._handle.options(multiplexed_model_id=f"{self._name}/{number:02d}")
            self._shards[number] = shard
        deadline = time.monotonic() + self._limit_s
        while True:
            try:
                found, answer = shard.remote(version, call, arguments).result(
                    timeout_s=max(deadline - time.monotonic(), 0.1)
                )
                break
            except TimeoutError as error:
                raise CallTimedOut(f"{self._what(number)} did not answer {call} within {self._limit_s:g} s") from error
            except (RayError, RayServeException) as error:
                if time.monotonic() + _AGAIN_S > deadline:
                    raise ClusterUnreachable(
                        f"the replicas of {self._what(number)} died or cannot be reached for {self._limit_s:g} s ({type(error).__name__}); "
                        "see `serve status` on the cluster"
                    ) from error
                time.sleep(_AGAIN_S)
        if found:
            return answer
        raise VersionGone(f"{self._what(number)} has another version") if answer is None else calls.decode_error(answer)

    def _what(self, number: int) -> str:
        return f"{shard_name(number)} of {self._name}"


class Replica:
    """Process that answers calls; it opens vaults read-only, when they are first asked for."""

    def __init__(self, vaults: Mapping[str, str], timeout_s: float, shards: Any = None) -> None:
        from ray import serve

        self._vaults, self._timeout_s, self._shards = dict(vaults), timeout_s, shards
        self._asking = ThreadPoolExecutor(AT_ONCE * SHARD_CALLS, "lamina-ask")
        self._token = os.environ.get(TOKEN_VARIABLE, "").strip().encode()
        if not self._token:
            raise InvalidArgument(f"${TOKEN_VARIABLE} is not set on this node; callers must bring the same")
        self._threads = ThreadPoolExecutor(AT_ONCE, "lamina-call")

        async def open_vault(name: str) -> lamina.Vault:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._open, name)

        self._opened: Any = serve.multiplexed(max_num_models_per_replica=OPEN_VAULTS)(open_vault)

    def _open(self, model: str) -> lamina.Vault:
        name, incomplete = model.removesuffix(_INCOMPLETE), model.endswith(_INCOMPLETE)
        place = self._vaults[name]
        if self._shards is None or not opening.root_manifest(place).shards:
            return lamina.open(place, mode="r", incomplete=incomplete)
        # who goes on without a shard has to have time left for that
        limit_s = self._timeout_s / 4 if incomplete else self._timeout_s
        handles = ShardHandles(self._shards, name, limit_s)
        memory = asking_elsewhere(lambda: opening.open_asking(place, handles.ask, incomplete=incomplete), self._asking)
        return lamina.Vault(memory)

    async def __call__(self, request: Request) -> Response:
        """Answer one call."""
        from ray import serve

        brought = request.headers.get("authorization", "").encode()
        if not hmac.compare_digest(brought, b"Bearer " + self._token):
            return _respond(
                401, calls.encode_error(lamina.StoreDenied(f"the token does not fit: set ${TOKEN_VARIABLE}"))
            )
        try:
            name = serve.get_multiplexed_model_id()
            if name not in self._vaults:
                known = ", ".join(sorted(self._vaults))
                raise VaultNotFound(f"no vault {name!r} is served here; there are {known}")
            question = calls.decode_question(await request.body())
            body, missing = await self._answer(name, question)
            return _respond(200, body, missing)
        except Exception as error:  # a bug is an answer, too
            return _respond(400, calls.encode_error(error))

    async def _answer(self, name: str, question: calls.Question) -> tuple[bytes, str]:
        limit_s = min(self._timeout_s, question.timeout_s or self._timeout_s)
        try:
            async with asyncio.timeout(limit_s):
                vault = await self._opened(f"{name}{_INCOMPLETE}" if question.incomplete else name)
                return await asyncio.get_running_loop().run_in_executor(
                    self._threads, lambda: asking_elsewhere(lambda: _answer(vault, question), self._asking)
                )
        except TimeoutError as error:
            raise CallTimedOut(
                f"{question.call} took more than {limit_s:g} s; try again, ask for less, or serve with a longer --timeout"
            ) from error


def _answer(vault: lamina.Vault, question: calls.Question) -> tuple[bytes, str]:
    """Return an answer, and the shards that it is without."""
    before = vault.incomplete if question.incomplete else ()
    try:
        body = calls.answer(vault, question)
    except (VersionGone, OSError) as error:
        if not question.incomplete and not isinstance(error, VersionGone):
            raise
        body = calls.answer(vault, question)  # a shard has another version since, or is looked at anew and gone without
    after = vault.incomplete if question.incomplete else ()
    return body, ",".join(sorted({*before, *after}))


def _respond(status: int, body: bytes, missing: str = "") -> Response:
    from starlette.responses import Response

    headers = {SIGN: lamina.__version__, **({INCOMPLETE: missing} if missing else {})}
    return Response(body, status, headers, "application/x-msgpack")


def name_vaults(places: Sequence[str]) -> dict[str, str]:
    """Return places by the name each is served under: ``NAME=PLACE``, or the place's last part.

    Raises
    ------
    InvalidArgument
    """
    found: dict[str, str] = {}
    for each in places:
        name, separator, place = each.partition("=")
        if not separator or "/" in name:
            place = each
            parts = [part for part in (urlsplit(each).path or each).split("/") if part not in ("", ".", ".lamina")]
            name = parts[-1] if parts else ""
        if not _NAME.fullmatch(name):
            raise InvalidArgument(
                f"{each!r} gives no name to serve it under; write NAME={place}, of letters, digits, - and _"
            )
        if name in found:
            raise InvalidArgument(f"{found[name]} and {place} would both be {name!r}; name one of them: NAME={place}")
        found[name] = place if "://" in place else os.path.abspath(place)  # noqa: PTH100 - as text, for every node
    return found


def build(arguments: Mapping[str, Any]) -> Any:
    """Return the application of Ray Serve, for `start` and for its own configuration files.

    There it is ``lamina.serving.replicas:build``. ``arguments`` are ``vaults`` (a place by name), and ``replicas``,
    ``shard_replicas``, ``timeout_s``, ``waiting``, ``resources`` where they differ.
    """
    serve = _import_serve()
    resources = dict(arguments.get("resources") or {})
    token = arguments.get("token")
    options: dict[str, Any] = {"num_cpus": resources.pop("CPU", 1), "resources": resources}
    if token:
        options["runtime_env"] = {"env_vars": {TOKEN_VARIABLE: token}}
    common: dict[str, Any] = {
        "ray_actor_options": options, "graceful_shutdown_timeout_s": 5, "health_check_period_s": 5,
        "health_check_timeout_s": 10, "logging_config": {"enable_access_log": False, "log_level": "WARNING"},
    }  # fmt: skip
    vaults, shards = dict(arguments["vaults"]), None
    if count := int(arguments.get("shard_replicas", 0)):
        shards = (
            serve.deployment(name="shards", num_replicas=count, max_ongoing_requests=SHARD_CALLS, **common)(ShardReplica)
            .bind(vaults)
        )  # fmt: skip
    deployment = serve.deployment(
        name="vaults", num_replicas=int(arguments.get("replicas", 1)), max_ongoing_requests=AT_ONCE,
        max_queued_requests=int(arguments.get("waiting", WAITING)), **common,
    )  # fmt: skip
    return deployment(Replica).bind(vaults, float(arguments.get("timeout_s", TIMEOUT_S)), shards)


def start(
    ray: str,
    vaults: Mapping[str, str],
    *,
    token: str,
    replicas: int = 1,
    shard_replicas: int = 0,
    timeout_s: float = TIMEOUT_S,
    waiting: int = WAITING,
    resources: Mapping[str, float] | None = None,
    host: str = "127.0.0.1",
    port: int = PORT,
) -> list[str]:
    """Serve vaults on a running cluster until `stop`; return their addresses.

    What it served before is replaced.

    Raises
    ------
    MissingExtra, InvalidArgument, ClusterUnreachable
    """
    serve = _import_serve()
    _, joined = join_cluster(ray)
    try:
        serve.start(http_options={"host": host, "port": port, "request_timeout_s": timeout_s + 5})
        application = build({
            "vaults": vaults, "replicas": replicas, "shard_replicas": shard_replicas, "timeout_s": timeout_s,
            "waiting": waiting, "resources": resources,
            "token": token,
        })  # fmt: skip
        serve.run(application, name=APPLICATION, route_prefix="/")
    except RuntimeError as error:
        raise ClusterUnreachable(f"the cluster at {ray} could not start the replicas: {error}") from error
    finally:
        if joined:
            _leave()
    return [f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}/{name}" for name in vaults]


def stop(ray: str) -> None:
    """Stop serving on a cluster; the cluster goes on. Raises as `start`."""
    serve = _import_serve()
    _, joined = join_cluster(ray)
    try:
        with contextlib.suppress(RuntimeError):  # nothing is served
            serve.delete(APPLICATION)
        serve.shutdown()
    finally:
        if joined:
            _leave()


def _leave() -> None:
    import ray

    ray.shutdown()


def _import_serve() -> Any:
    from importlib import import_module

    try:
        return import_module("ray.serve")
    except ImportError as error:
        raise MissingExtra(f"serving needs Ray Serve, which is not installed ({error})", "cluster") from error
