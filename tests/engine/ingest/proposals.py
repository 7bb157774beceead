"""Writer of documents in the manner of PEPs: heads of every form, and what each one means."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

_TITLES = (
    "Adding a matrix operator", "Deferred evaluation of annotations", "Syntax for variable packs",
    "A case for: explicit exports", "Structural pattern guards", "Retiring the old buffer interface",
    "Support for offset-aware clocks", "Style guide: the C code", "Import hooks -- second round", "Frozen mappings",
)  # fmt: skip
_AUTHORS = (
    "Ada Byron <ada at example.org>", "Grete Hermann <grete@example.net>", "J. Q. Public", "Kenji Sato <kenji@example.jp>",
    "Łukasz Żak <lz@example.pl>", "Marie-Claire O'Neil <mc@example.ie>",
)  # fmt: skip
_STATUS = ("Draft", "Accepted", "Final", "Withdrawn", "Rejected", "Superseded")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LONG = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
         "December")  # fmt: skip


@dataclass(frozen=True)
class Expected:
    """A document and what a reader should take from it."""

    name: str
    text: str
    title: str
    created: str | None
    authors: tuple[str, ...]
    status: str | None


def _date(rng: random.Random, form: int) -> tuple[str, str]:
    year, month, day = rng.randint(1999, 2025), rng.randint(1, 12), rng.randint(1, 28)
    iso = f"{year:04d}-{month:02d}-{day:02d}"
    written = (f"{day:02d}-{_MONTHS[month - 1]}-{year}", iso, f"{day} {_LONG[month - 1]} {year}")[form]
    return written, iso


def _names(authors: Sequence[str]) -> tuple[str, ...]:
    return tuple(author.split(" <")[0] for author in authors)


def generate(number: int) -> Expected:
    """Write the numbered document; the form follows from the number, the rest from a seed."""
    rng = random.Random(number)
    form = number % 8
    title = f"{rng.choice(_TITLES)} {number}"
    written, created = _date(rng, (number // 8) % 3)
    authors = rng.sample(_AUTHORS, 1 if form in (0, 5) else rng.randint(2, 4))
    status = rng.choice(_STATUS)
    lines = [f"PEP: {number}", f"Title: {title}"]
    if form == 2:  # a folded title
        first, _, rest = title.partition(" ")
        lines[1:] = [f"Title: {first}", f"       {rest}"]
    if form in (1, 4):  # folded authors, indented by a tab or by spaces
        lines.append("Author: " + (",\n\t" if form == 4 else ",\n        ").join(authors))
    else:
        lines.append("Author: " + ", ".join(authors))
    if form != 5:  # no status
        lines.append(f"Status: {status}")
    lines += ["Type: Standards Track", "Topic: Typing", "Content-Type: text/x-rst"]
    if form != 3:  # no date
        lines.append(f"Created: {written}")
    if form == 6:  # fields that stand twice: the first counts
        lines += ["Title: Something else", "Created: 01-Jan-1990"]
    lines += [
        "Python-Version: 3.12",
        "Post-History: `12-Jan-2020 <https://example.org/a>`__,",
        "              3-Feb-2021",
    ]
    if number % 5 == 1:
        lines.append("Resolution:")
    lines += ["", "", "Abstract", "========", "", f"This document proposes change {number}, in short.", "",
              "Rationale", "=========", "", "Note: a colon in a paragraph is no field.", "", "Created: by hand, it says here.",
              "", "Copyright", "=========", "", "Placed in the public domain.", ""]  # fmt: skip
    if form == 7:  # no head at all: a title with a line above and below
        rule = "=" * len(title)
        body = lines[lines.index("Abstract") :]
        lines = [rule, title, rule, "", *(line.replace("=", "-") if set(line) == {"="} else line for line in body)]
        return Expected(f"doc-{number:04d}.rst", "\n".join(lines), title, None, (), None)
    return Expected(
        f"pep-{number:04d}.rst",
        "\n".join(lines),
        title,
        None if form == 3 else created,
        _names(authors),
        None if form == 5 else status,
    )


def generate_all() -> list[Expected]:
    """Write the eighty documents."""
    return [generate(number) for number in range(1, 81)]
