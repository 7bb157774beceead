"""A vault that a Ray cluster serves, as its readers hold it."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar, cast
from urllib.parse import urlsplit

from lamina.context import Context
from lamina.facts import Facts
from lamina.freshness import Freshness
from lamina.links import Links
from lamina.serving import calls
from lamina.sessions import Sessions
from lamina.topics import Topics
from lamina.vault import Vault
from lamina_engine.clock import EPOCH, SystemClock
from lamina_engine.errors import (
    CallTimedOut,
    ClusterBusy,
    ClusterUnreachable,
    InvalidArgument,
    StoreDenied,
    VaultReadOnly,
)

T = TypeVar("T")

TOKEN_VARIABLE: Final = "LAMINA_SERVE_TOKEN"
SIGN: Final = "x-lamina"
"""Header of every answer by a replica; without it something else has answered."""
INCOMPLETE: Final = "x-lamina-incomplete"
"""Header that names the shards that did not answer, for who wished to go on without them."""
MODEL: Final = "serve_multiplexed_model_id"
"""Ray Serve's header: it takes the request to a replica that has this vault open."""
TIMEOUT_S: Final = 30.0
_CONNECT_S: Final = 5.0
_AGAIN_S: Final = 0.2
"""Wait before a read is asked again of another replica."""


class Connection:
    """Kept connections to one served vault; a read is asked again where a replica dies."""

    address: str
    name: str
    timeout_s: float

    def __init__(self, address: str, timeout_s: float | None = None, *, incomplete: bool = False) -> None:
        import httpx

        parts = urlsplit(address)
        name = parts.path.strip("/")
        if not parts.hostname or not name or "/" in name or parts.query or parts.username or parts.password:
            raise InvalidArgument(
                f"{parts.scheme}://{parts.hostname or ''}{parts.path} must be the address of a served vault, such as "
                f"http://10.0.0.5:8000/team; the token comes from ${TOKEN_VARIABLE}"
            )
        self.address, self.name, self._incomplete = address, name, incomplete
        self.timeout_s = TIMEOUT_S if timeout_s is None else timeout_s
        token = os.environ.get(TOKEN_VARIABLE, "").strip()
        if not token or not token.isascii():
            raise StoreDenied(f"{address} answers those who bring its token: set ${TOKEN_VARIABLE}")
        self._client = httpx.Client(
            base_url=f"{parts.scheme}://{parts.netloc}",
            headers={MODEL: name, "authorization": f"Bearer {token}", "content-type": "application/x-msgpack"},
            timeout=httpx.Timeout(self.timeout_s + _CONNECT_S, connect=_CONNECT_S),
        )

    def ask(self, call: str, *arguments: object, **options: object) -> Any:
        """Return what a call returns; raises what it raises."""
        deadline = time.monotonic() + self.timeout_s
        while True:
            left_s = max(deadline - time.monotonic(), 0.1)
            found = self._send(calls.encode_question(call, arguments, options, left_s, incomplete=self._incomplete))
            if found is not None:
                return calls.decode_answer(call, *found)
            if time.monotonic() + _AGAIN_S > deadline:
                raise ClusterUnreachable(
                    f"the replicas of {self.address} died or cannot be reached for {self.timeout_s:g} s; "
                    "see `ray status` and `serve status` on the cluster"
                )
            time.sleep(_AGAIN_S)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _send(self, body: bytes) -> tuple[bytes, list[str]] | None:
        """Return the body of an answer, and the shards that it is without.

        None where the replica is gone, and another may answer.
        """
        import httpx

        try:
            response = self._client.post("/", content=body)
        except httpx.ConnectError as error:
            raise ClusterUnreachable(
                f"nothing answers at {self.address} ({error}); start it with `lamina serve-cluster`, or correct the address"
            ) from error
        except httpx.TimeoutException as error:
            raise CallTimedOut(self._too_late()) from error
        except httpx.TransportError:
            return None
        if SIGN in response.headers:
            if response.status_code == 200:
                return response.content, [name for name in response.headers.get(INCOMPLETE, "").split(",") if name]
            raise calls.decode_error(response.content)
        if response.status_code == 503:
            raise ClusterBusy(
                f"{self.address} has as many calls waiting as it takes; try again in a moment, or serve it with more --replicas"
            )
        if response.status_code == 408:
            raise CallTimedOut(self._too_late())
        if response.status_code >= 500:  # the replica died with the call
            return None
        raise ClusterUnreachable(
            f"{self.address} answers ({response.status_code}), but not as Lamina; give the address that `lamina serve-cluster` printed"
        )

    def _too_late(self) -> str:
        return f"{self.address} gave no answer within {self.timeout_s:g} s; try again, or ask for less"


class _Remote:
    """Engine of a served vault: it is on the cluster, so what needs it here is refused."""

    closed = False

    def __init__(self, address: str) -> None:
        self._address = address

    def __getattr__(self, name: str) -> NoReturn:
        raise VaultReadOnly(
            f"{self._address} is served by a cluster and can only be asked; open the vault itself (its folder or bucket) for this"
        )


def _forwarding(method: Callable[..., Any], call: str) -> Callable[..., Any]:
    served = call in calls.CALLS

    @wraps(method)
    def ask(self: Any, /, *arguments: Any, **options: Any) -> Any:
        if not served:
            raise VaultReadOnly(
                f"{call}() is not served: it writes, or works with files of this machine; open the vault itself for it"
            )
        inspect.signature(method).bind(self, *arguments, **options)
        return self._connection.ask(call, *arguments, **options)

    return ask


def _served(kind: type, prefix: str) -> dict[str, Any]:
    """Return the public calls of a class, each sent to the cluster under its name."""
    found = {}
    for name, method in vars(kind).items():
        if inspect.isfunction(method) and (name == "__call__" or not name.startswith("_")):
            call = prefix if name == "__call__" else f"{prefix}.{name}".lstrip(".")
            found[name] = _forwarding(method, call)
    return found


def _accessor(kind: type[T], prefix: str, connection: Connection) -> T:
    served: Any = type(f"Served{kind.__name__}", (kind,), _served(kind, prefix))
    made = served(_Remote(connection.address))
    made._connection = connection
    return cast("T", made)


class ServedVault(Vault):
    """A vault on a cluster, for reading: calls that write raise `VaultReadOnly`."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(_Remote(connection.address))
        self._connection = connection
        try:
            connection.ask("version")  # whether it can be asked is known at once
        except BaseException:
            connection.close()
            raise

    def __enter__(self) -> ServedVault:
        return self

    def __repr__(self) -> str:
        return f"<Vault {self._connection.name!r} served at {self._connection.address}>"

    def close(self) -> None:
        """Close the connections to the cluster."""
        self._connection.close()

    @property
    def path(self) -> Path:
        """Refused: the folder is on the cluster."""
        return self._memory.root

    @property
    def incomplete(self) -> tuple[str, ...]:
        """Shards without which a replica answers now; see `lamina.open`."""
        return tuple(self._connection.ask("incomplete"))

    @property
    def tz(self) -> str:
        """Zone in which dates without one are read: of the served vault."""
        return str(self._connection.ask("tz"))

    @property
    def version(self) -> int:
        """Number of the newest version that a replica has seen."""
        return int(self._connection.ask("version"))

    @property
    def now(self) -> datetime:
        """Time of this machine's clock, UTC; the replicas' own counts for ages."""
        return EPOCH + timedelta(microseconds=SystemClock().now_us())

    @cached_property
    def facts(self) -> Facts:
        """Facts; see `lamina.facts.Facts`."""
        return _accessor(Facts, "facts", self._connection)

    @cached_property
    def links(self) -> Links:
        """Links; see `lamina.links.Links`."""
        return _accessor(Links, "links", self._connection)

    @cached_property
    def topics(self) -> Topics:
        """Topics; see `lamina.topics.Topics`."""
        return _accessor(Topics, "topics", self._connection)

    @cached_property
    def sessions(self) -> Sessions:
        """Sessions; see `lamina.sessions.Sessions`."""
        return _accessor(Sessions, "sessions", self._connection)

    @cached_property
    def context(self) -> Context:
        """Context blocks are not served: what a session was shown is noted where it is told."""
        return _accessor(Context, "context", self._connection)

    @cached_property
    def freshness(self) -> Freshness:
        """Freshness is not served: it reads the git history of files."""
        return _accessor(Freshness, "freshness", self._connection)


for _name, _method in _served(Vault, "").items():
    if _name not in vars(ServedVault):
        setattr(ServedVault, _name, _method)
