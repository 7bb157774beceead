"""Folder walk: the sources below a root, in one fixed order and without leaving the root.

These are skipped, and counted in `WalkReport.skipped` under the word in brackets:

- files and folders whose name starts with a dot, so also ``.git``, ``.obsidian``, ``.trash`` and ``.env`` (hidden);
- the folders of `SKIPPED_FOLDERS` (folder), and any folder that is itself a vault of Lamina (vault);
- template folders of note-taking (templates). In an Obsidian vault, which is any folder that holds ``.obsidian``: the
  folder named in ``.obsidian/templates.json``, and ``templates`` or ``_templates``, in any letter case, directly in the
  vault. Elsewhere only a folder called exactly ``templates`` directly in the root. Deeper folders of that name are
  content: as often the subject of the notes or code as a template;
- kinds that hold no text, by suffix (binary); editors' backups ending in ``~`` (backup);
- FIFOs, sockets and devices (special);
- links to what is listed anyway (linked).

``.gitignore`` is not consulted: private notes are often ignored by git on purpose, and are the ones worth remembering.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lamina_engine.arguments import is_unicode
from lamina_engine.errors import IngestError, InvalidArgument, name_cause
from lamina_engine.ingest.decoding import explain_name
from lamina_engine.reports import Problem

MAX_BYTES = 50 * 2**20
"""Default limit for a file that is read as a whole."""
SKIPPED_FOLDERS = frozenset({"node_modules", "dist", "build", "vendor", "__pycache__"})
RECORD_KINDS = frozenset({"jsonl", "csv", "tsv", "parquet", "arrow"})
"""Kinds read as a stream of rows; the size limit is not for them."""

_CODE = (
    "py pyi pyx js mjs cjs jsx ts mts cts tsx vue svelte java kt kts scala groovy clj cljs go rs c h cc cpp cxx hh "
    "hpp hxx cs fs fsx vb swift m mm d zig nim rb php pl pm lua r jl dart ex exs erl hrl hs lhs ml mli elm lisp el "
    "scm rkt sh bash zsh fish ps1 bat cmd sql graphql proto thrift tf hcl nix cmake mk gradle json json5 jsonc yaml "
    "yml toml ini cfg conf xml css scss sass less tex bib vim awk sol asm s f90 f95 pas ada tcl v sv vhd "
    "vhdl"
)
_BINARY = (
    "png jpg jpeg gif bmp webp avif ico tif tiff heic psd ai eps svg djvu epub mobi doc xls xlsx ppt pptx "
    "odt ods odp pages numbers key mp3 wav flac ogg m4a aac mp4 m4v mov avi mkv webm zip gz tgz bz2 xz zst 7z rar "
    "tar jar war whl egg iso dmg exe dll so dylib o a lib class pyc pyo wasm bin dat db sqlite sqlite3 npy npz pkl "
    "pt onnx safetensors gguf h5 ttf otf woff woff2 eot bundle pack swp swo"
)
KINDS: dict[str, str] = {
    **dict.fromkeys(_CODE.split(), "code"),
    **dict.fromkeys(("md", "markdown", "mdx", "qmd"), "markdown"),
    **dict.fromkeys(("txt", "text", "log"), "text"),
    **dict.fromkeys(("rst", "rest"), "rst"),
    **dict.fromkeys(("adoc", "asciidoc"), "asciidoc"),
    "org": "org",
    **dict.fromkeys(("jsonl", "ndjson"), "jsonl"),
    **dict.fromkeys(("arrow", "arrows", "ipc", "feather"), "arrow"),
    **dict.fromkeys(("parquet", "pq"), "parquet"),
    **dict.fromkeys(("html", "htm", "xhtml"), "html"),
    "ipynb": "notebook",
    "eml": "mail",
    "mbox": "mail",
    "pdf": "pdf",
    "docx": "docx",
    "csv": "csv",
    "tsv": "tsv",
}
"""Kind of source by lower-case suffix; of a suffix neither here nor in `BINARY_SUFFIXES` only the bytes can tell."""
_TEXTS = frozenset({"markdown", "rst", "asciidoc", "org"})
BINARY_SUFFIXES = frozenset(_BINARY.split())


@dataclass(frozen=True, slots=True)
class FileEntry:
    """File to read."""

    path: str
    """Path below the root, with ``/``; for a followed link the link's own path."""
    absolute: Path
    """Path of its bytes; never a link."""
    size: int
    """Bytes."""
    mtime_ns: int
    """Modification time, ns since 1970."""
    inode: int
    kind: str | None
    """A kind of `KINDS`, or None where the suffix says nothing."""


@dataclass(slots=True)
class WalkReport:
    """Problems and skipped entries of a walk."""

    problems: list[Problem] = field(default_factory=list)
    """Codes: unreadable, encoding, symlink, too_large, vault."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Files and folders left out by rule, by the rule's word."""
    unread: Counter[str] = field(default_factory=Counter)
    """Files of kinds that are not read, by suffix; a file without one under the empty text."""


def walk(root: Path, *, max_bytes: int = MAX_BYTES, report: WalkReport | None = None) -> Iterator[FileEntry]:
    """List the sources below a folder, sorted by path in code point order; one ``stat`` each.

    A single file is listed whatever its name. A file that links name too is listed once, under its own path. A link to
    something inside the root that the walk skips by rule is followed, unless it leads into ``.git`` or a vault.
    """
    if max_bytes < 0:
        raise InvalidArgument(f"max_bytes={max_bytes} is negative; give a number of bytes of 0 or more")
    try:
        top = Path(root).resolve(strict=True)
        info = top.stat()
    except (OSError, RuntimeError, ValueError) as error:
        raise IngestError(
            f"{str(root)!r} cannot be read ({name_cause(error)}); give a folder or file that exists"
        ) from error
    walker = _Walker(top, max_bytes, WalkReport() if report is None else report)
    if stat.S_ISREG(info.st_mode):
        walker.add(top.name, top, info)
    elif stat.S_ISDIR(info.st_mode):
        walker.tree()
    else:
        raise IngestError(f"{str(root)!r} is neither a folder nor a regular file; give one of these")
    return iter(sorted(walker.entries, key=lambda entry: entry.path))


def read_entry(entry: FileEntry, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Read a listed file; refuse one that is missing, not regular any more, or too large."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(entry.absolute, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise IngestError(f"{entry.path!r} is no longer a regular file; skipped")
            data = file.read(max_bytes + 1)
    except OSError as error:
        if isinstance(error, IngestError):
            raise
        raise IngestError(f"{entry.path!r} cannot be read ({error.strerror or error})") from error
    if len(data) > max_bytes:
        raise IngestError(f"{entry.path!r} has {refuse_size(max_bytes)}")
    return data


def refuse_size(max_bytes: int) -> str:
    """Return what is wrong with a file that is too large, and what to do."""
    return f"more than the {max_bytes} bytes that a file may have; cut it into parts, such as with `split -C 40m`"


def is_vault(folder: Path) -> bool:
    """Return whether a folder is a vault of Lamina: it holds ``CURRENT`` and ``log/``."""
    try:
        return (folder / "CURRENT").is_file() and (folder / "log").is_dir()
    except OSError:  # a folder that may not be looked into; reading it says so
        return False


class _Walker:
    """State of one walk; links are followed last, so a file's own path wins."""

    def __init__(self, root: Path, max_bytes: int, report: WalkReport) -> None:
        self.root = root
        self.max_bytes = max_bytes
        self.report = report
        self.entries: list[FileEntry] = []
        self.seen: set[tuple[int, int]] = set()
        self.links: list[tuple[str, Path]] = []
        self.templates = {"templates"}

    def tree(self) -> None:
        """Walk the root, then the links found, then the links found behind those."""
        if is_vault(self.root):
            self.problem(".", "vault", "the folder is a Lamina vault; its own files are not ingested")
            return
        self.folders("", self.root)
        while self.links:
            batch, self.links = sorted(self.links), []
            for path, absolute in batch:
                try:
                    self.follow(path, absolute)
                except OSError as error:
                    self.problem(path, "unreadable", f"its target cannot be examined ({error.strerror or error})")

    def folders(self, path: str, absolute: Path) -> None:
        """Walk a folder and all below it. The caller has checked the folder itself."""
        pending = [(path, absolute)]
        while pending:
            path, absolute = pending.pop()
            try:
                info = absolute.stat()
                with os.scandir(absolute) as listing:
                    found = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                if not path:
                    raise IngestError(f"{str(absolute)!r} cannot be listed ({error.strerror or error})") from error
                self.problem(path, "unreadable", f"the folder cannot be listed ({error.strerror or error})")
                continue
            if (info.st_dev, info.st_ino) in self.seen:
                self.report.skipped["linked"] += 1
                continue
            self.seen.add((info.st_dev, info.st_ino))
            self.note_templates(path, absolute, found)
            for entry in found:
                below = self.visit(f"{path}/{entry.name}" if path else entry.name, entry)
                if below is not None:
                    pending.append(below)

    def visit(self, path: str, entry: os.DirEntry[str]) -> tuple[str, Path] | None:
        """Classify one entry; return a folder to walk."""
        if not is_unicode(entry.name):
            shown = os.fsencode(path).decode("utf-8", "backslashreplace")
            self.problem(shown, "encoding", explain_name(entry.name))
            return None
        absolute = Path(entry.path)
        try:
            if entry.is_symlink():
                self.links.append((path, absolute))
            elif entry.is_dir(follow_symlinks=False):
                return (path, absolute) if self.admits_folder(path, absolute) else None
            else:
                self.file(path, absolute, entry.stat(follow_symlinks=False))
        except OSError as error:
            self.problem(path, "unreadable", f"cannot be examined ({error.strerror or error})")
        return None

    def follow(self, path: str, link: Path) -> None:
        """Follow a link that leads to something new inside the root."""
        try:
            target = link.resolve(strict=True)
            info = target.stat()
        except (OSError, RuntimeError) as error:  # before 3.13 a loop of links is a RuntimeError
            self.problem(path, "symlink", f"broken link ({error}); not followed")
            return
        if not target.is_relative_to(self.root):
            self.problem(path, "symlink", "the link leads out of the folder; not followed")
        elif (info.st_dev, info.st_ino) in self.seen:
            self.report.skipped["linked"] += 1
        elif self.is_private(target):
            self.report.skipped["folder"] += 1
        elif not stat.S_ISDIR(info.st_mode):
            self.file(path, target, info)
        elif self.admits_folder(path, target):
            self.folders(path, target)

    def is_private(self, target: Path) -> bool:
        """Return whether a link's target belongs to git or to a vault."""
        below = target.relative_to(self.root)
        return ".git" in below.parts or any(is_vault(self.root / parent) for parent in below.parents)

    def admits_folder(self, path: str, absolute: Path) -> bool:
        """Return whether the rules admit a folder; count it where they do not."""
        name = path.rpartition("/")[2]
        if name.startswith("."):
            reason = "hidden"
        elif name in SKIPPED_FOLDERS:
            reason = "folder"
        elif path in self.templates:
            reason = "templates"
        elif is_vault(absolute):
            reason = "vault"
        else:
            return True
        self.report.skipped[reason] += 1
        return False

    def file(self, path: str, absolute: Path, info: os.stat_result) -> None:
        """Add a file unless a rule on its name or type leaves it out."""
        name = path.rpartition("/")[2]
        if not stat.S_ISREG(info.st_mode):
            reason = "special"
        elif name.startswith("."):
            reason = "hidden"
        elif name.endswith("~"):
            reason = "backup"
        elif _suffix(name) in BINARY_SUFFIXES:
            reason = "binary"
            self.report.unread[f".{_suffix(name)}"] += 1
        else:
            self.add(path, absolute, info)
            return
        self.report.skipped[reason] += 1

    def add(self, path: str, absolute: Path, info: os.stat_result) -> None:
        """Add a file unless it is too large."""
        kind = kind_of_name(path)
        self.seen.add((info.st_dev, info.st_ino))
        if info.st_size > self.max_bytes and kind not in RECORD_KINDS:
            self.problem(path, "too_large", f"{info.st_size} bytes, {refuse_size(self.max_bytes)}; skipped")
            return
        self.entries.append(FileEntry(path, absolute, info.st_size, info.st_mtime_ns, info.st_ino, kind))

    def note_templates(self, path: str, absolute: Path, found: Sequence[os.DirEntry[str]]) -> None:
        """Remember the template folders of an Obsidian vault, known by its ``.obsidian`` folder."""
        names = [entry.name for entry in found]
        if ".obsidian" not in names:
            return
        prefix = f"{path}/" if path else ""
        self.templates.update(prefix + name for name in names if name.casefold() in ("templates", "_templates"))
        configured = _configured_templates(absolute)
        if configured:
            self.templates.add(prefix + configured)

    def problem(self, path: str, code: str, message: str) -> None:
        self.report.problems.append(Problem(path, code, message))


def _configured_templates(vault: Path) -> str | None:
    """Return the templates folder of an Obsidian vault's settings, or None."""
    import json

    settings = vault / ".obsidian" / "templates.json"
    try:
        info = settings.lstat()
        if not stat.S_ISREG(info.st_mode) or info.st_size > 65_536:
            return None
        folder = json.loads(settings.read_bytes())["folder"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    # only compared with paths the walk meets, never opened, so "../.." in it is without effect
    return folder.strip("/") or None if isinstance(folder, str) else None


def kind_of_name(path: str) -> str | None:
    """Return the kind by suffix; ``index.rst.txt``, as Sphinx publishes its sources, is ``rst``."""
    name = path.rpartition("/")[2]
    kind = KINDS.get(_suffix(name))
    before = KINDS.get(_suffix(name[: -len(_suffix(name)) - 1])) if kind == "text" else None
    return before if before in _TEXTS else kind


def _suffix(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""
