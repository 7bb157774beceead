"""Object storage behind one address, by obstore; its errors as Lamina's own.

Credentials come from the environment or the provider's own chain; an address that holds any is refused.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from lamina_engine.errors import (
    InvalidArgument,
    LaminaError,
    MissingExtra,
    StoreDenied,
    StoreUnreachable,
    StoreUnsafe,
    VaultCorrupt,
    VaultNotFound,
)

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SCHEMES: Final = ("s3", "gs", "az", "file")
_RETRIES: Final = 6
_RETRY_S: Final = timedelta(seconds=10)
_PAGE: Final = 1_000
_NO_BUCKET: Final = re.compile(r"NoSuchBucket|ContainerNotFound|specified bucket does not exist", re.IGNORECASE)
_DENIED: Final = re.compile(
    r"\b40[13] |AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|Forbidden|Unauthorized|169\.254\.169"
)
_CODE: Final = re.compile(r"<Code>(\w+)</Code>")
_REASON: Final = re.compile(r"(\d{3} [A-Z][A-Za-z ]+|HTTP error: [^\n]{1,120}|[^\n]{1,160})")


class Objects:
    """Objects below one address. Every failure but a missing object is a `LaminaError`."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._store = _open(self.url)

    @property
    def identity(self) -> str:
        """The address with the endpoint that the environment names."""
        config = dict(getattr(self._store, "config", None) or {})
        return f"{self.url} {config.get('endpoint', '')}"

    def read(self, path: str) -> bytes | None:
        """Return an object's content; None if there is none."""
        import obstore

        with self._typed(f"reading {path}"):
            try:
                return bytes(obstore.get(self._store, path).bytes())
            except FileNotFoundError as error:
                if _NO_BUCKET.search(str(error)):
                    raise
        return None

    def create(self, path: str, content: bytes) -> bool:
        """Write an object that must not exist yet; return False where it does."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with self._typed(f"writing {path}"):
            try:
                obstore.put(self._store, path, content, mode="create")
            except (AlreadyExistsError, PreconditionError):
                return False
        return True

    def write(self, path: str, content: bytes | Path) -> None:
        """Write an object, from a file where a path is given."""
        import obstore

        with self._typed(f"writing {path}"):
            obstore.put(self._store, path, content)

    def names(self, folder: str, after: str | None = None) -> dict[str, int]:
        """Return the sizes of all objects in a folder by path, of those past ``after``."""
        import obstore

        with self._typed(f"listing {folder}"):
            pages = obstore.list(self._store, folder, offset=after, chunk_size=_PAGE)
            return {each["path"]: int(each["size"]) for page in pages for each in page}

    def delete(self, paths: Sequence[str]) -> None:
        """Delete objects; a missing one is fine."""
        import obstore

        for path in paths:
            with self._typed(f"deleting {path}"), contextlib.suppress(FileNotFoundError):
                obstore.delete(self._store, path)

    @contextlib.contextmanager
    def _typed(self, action: str) -> Iterator[None]:
        """Raise errors of obstore as Lamina's, with neither key nor header of the request."""
        from obstore.exceptions import BaseError

        try:
            yield
        except LaminaError:
            raise
        except (BaseError, OSError, NotImplementedError) as error:
            raise self._name(error, action) from None

    def _name(self, error: Exception, action: str) -> LaminaError:
        text = str(error)
        if _NO_BUCKET.search(text):
            return VaultNotFound(
                f"{self.url}: there is no such bucket (while {action}); create it with your provider's tools, or correct the address"
            )
        kind = type(error).__name__
        if kind in ("NotSupportedError", "NotImplementedError"):
            return StoreUnsafe(
                f"{self.url}: {action} needs a conditional write, which this storage does not have; use one that has"
            )
        if kind in ("PermissionDeniedError", "UnauthenticatedError", "PermissionError") or _DENIED.search(text):
            return StoreDenied(
                f"{self.url}: {action} was refused ({_reason(text)}); give credentials that may, in the environment "
                "(AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3://) or by your provider's own chain"
            )
        return StoreUnreachable(
            f"{self.url}: {action} failed after {_RETRIES} more tries within {_RETRY_S.seconds} s ({_reason(text)}); "
            "see that the storage can be reached (AWS_ENDPOINT_URL names another than the provider's), then try again"
        )


def _reason(text: str) -> str:
    """Return a few words of an error; a whole answer may name keys."""
    code = _CODE.search(text)
    if code is not None:
        return code[1]
    found = _REASON.search(text.rpartition(" - ")[2])
    return found[0].strip() if found else "no reason given"


def _open(url: str) -> ObjectStore:
    parts = urlsplit(url)
    if parts.scheme in ("http", "https"):
        raise InvalidArgument(
            f"{url} is the address of a served vault, which answers recalls and other calls that read; run this where the vault lies"
        )
    if parts.scheme not in SCHEMES:
        raise InvalidArgument(
            f"{url}: {parts.scheme}:// is no object storage that a vault can be on; "
            f"give {', '.join(f'{scheme}://' for scheme in SCHEMES)}, or the path of a folder"
        )
    if parts.username or parts.password or parts.query:
        raise InvalidArgument(
            "the address of a vault names a bucket and a folder in it, and no credentials or options; they come from the "
            "environment or the provider's own chain"
        )
    try:
        from obstore.exceptions import BaseError
        from obstore.store import LocalStore, from_url
    except ImportError as error:
        raise MissingExtra(f"{url} needs obstore, which is not installed", "cluster") from error
    try:
        if parts.scheme == "file":
            return LocalStore.from_url(url, mkdir=True)
        return from_url(
            url,
            retry_config={"max_retries": _RETRIES, "retry_timeout": _RETRY_S},
        )
    except (BaseError, OSError, ValueError) as error:
        raise InvalidArgument(f"{url} cannot be used: {_reason(str(error))}; give it as s3://bucket/folder") from error


def damaged(url: str, path: str, wrong: str) -> VaultCorrupt:
    """Return the error for an object that is not what was written."""
    return VaultCorrupt(
        f"{url}/{path} {wrong}; put that object back from a copy or an older version that the storage keeps"
    )
