"""Query operators: phrases, prefixes, typos, required and excluded clauses, and fields.

======================  ==========================================================================================
``"exact phrase"``      the words stand side by side, in this order; required, but in a question or a sentence
``prefix*``             any word that begins so
``typo~`` ``typo~2``    any word within one edit, or two
``+clause``             required
``-clause``             excluded
``field:clause``        in that field alone; required. Fields: title, project, type, tag, source
======================  ==========================================================================================

A clause is a word, a phrase, a prefix or a typo. What only looks like an operator is text: an open quote, a lone sign, a
sign before one letter or a number (``git commit -m``, ``-5 degrees``, ``[0.5, -1e-3]``), two signs (``--force``), an unknown field
(``https://…``, ``12:30``). Beside such a flag, and in a text of several lines, no sign before a mere word is an operator: that was
pasted. So no question is ever an error, and an ordinary question is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final, Literal

from msgspec import Struct

from lamina_engine.expressions import late

FIELDS: Final = ("title", "project", "type", "tag", "source")

Kind = Literal["word", "phrase", "prefix", "typo"]
Need = Literal["must", "may", "not"]

_END = r"(?=[\s.,;:!?)]|\Z)"
_MARK: Final = re.compile(r'["“*~:]|(?<!\S)[+-]')
"""Every operator has one: a cold process compiles the whole pattern only for such queries, which takes 6 ms."""
_WORD: Final = re.compile(r"\w")
_WORDS: Final = re.compile(r"\w+")
_FLAG: Final = re.compile(r"\w|(?:[\d\W]|(?<=[\d.])[eE](?=[+-]?\d))+")
"""What a sign stands before in a flag or a number, and not in an operator."""
_ENDING: Final = ".,;:!?)"
_COMMAND: Final = re.compile(r"(?<!\S)-(?:[A-Za-z](?!\S)|-[A-Za-z])")
"""A flag that no operator looks like."""
_KEYWORDS: Final = 3
"""Words beside its operators that a query of keywords has, at most; with more it is a sentence."""


_CLAUSE: Final = late(
    rf"(?<!\S)(?P<sign>[+-]?)(?:(?P<field>{'|'.join(FIELDS)}):)?"
    rf'(?:"(?P<straight>[^"]*)"{_END}'  # a phrase
    rf"|“(?P<curly>[^”]*)”{_END}"
    rf"|(?P<stem>\w[\w.'-]*)(?P<suffix>\*|~[12]?){_END}"  # a prefix or a typo
    r'|(?P<bare>[^\s"*~+-][^\s"]*)(?!\S))'  # a word
)


class Clause(Struct, frozen=True):
    """One operator of a query."""

    kind: Kind
    text: str
    """The word, the beginning of one, or the words of a phrase, as written."""
    need: Need
    field: str | None = None
    edits: int = 0
    """Of a typo: how many letters may differ."""


class ParsedQuery(Struct, frozen=True):
    """Parsed query: its operators, and its text without signs and excluded words."""

    text: str
    clauses: tuple[Clause, ...] = ()
    plain: bool = True
    """True where the query has words beside its operators."""
    query: str = ""
    """As it was written."""


def parse_query(query: str, flags: Collection[str] = ()) -> ParsedQuery:
    """Read the operators of a query; a query without any is unchanged. Never raises. O(n).

    Words that are known as ``flags`` are text, whatever sign stands before them.

    Examples
    --------
    >>> [(c.need, c.kind, c.text) for c in parse_query('+deploy "build failed" -staging cach~1').clauses]
    [('must', 'word', 'deploy'), ('must', 'phrase', 'build failed'), ('not', 'word', 'staging'), ('may', 'typo', 'cach')]
    >>> parse_query("git commit -m 'fix' --force").clauses
    ()
    """
    if not _MARK.search(query):
        return ParsedQuery(query, query=query)
    clauses: list[Clause] = []
    text: list[str] = []
    between: list[str] = []
    at = 0
    for match, clause in _read_clauses(query, flags):
        clauses.append(clause)
        between.append(query[at : match.start()])
        text.append(between[-1])
        if clause.need != "not" and clause.field in (None, "title"):
            text.append(clause.text)
        at = match.end()
    if not clauses:
        return ParsedQuery(query, query=query)
    between.append(query[at:])
    plain = any(_WORD.search(part) for part in between)
    return ParsedQuery("".join([*text, query[at:]]).strip(), tuple(clauses), plain, query)


def drop_clauses(query: str, clauses: Collection[Clause]) -> str:
    """Return a query with some of its operators as plain words, and without what they exclude."""
    kept: list[str] = []
    at = 0
    for match, clause in _read_clauses(query, ()):
        if clause in clauses:
            is_word = clause.need != "not" and clause.field in (None, "title")
            kept += [query[at : match.start()], clause.text if is_word else ""]
            at = match.end()
    return " ".join("".join([*kept, query[at:]]).split())


def _read_clauses(query: str, flags: Collection[str]) -> Iterator[tuple[re.Match[str], Clause]]:
    """Yield each operator, with where it stands."""
    asks = _is_sentence(query)
    pasted = "\n" in query.strip() or _COMMAND.search(query) is not None
    for match in _CLAUSE.finditer(query):
        clause = _clause_of(match, asks)
        if clause is None:
            continue
        is_signed_word = clause.kind == "word" and clause.field is None
        if not (is_signed_word and (pasted or (clause.need == "not" and clause.text in flags))):
            yield match, clause


def _is_sentence(query: str) -> bool:
    """Tell whether a query is a question, or has more words than one of keywords."""
    # what it quotes is then a name in it, and the answer may stand elsewhere
    if query.rstrip().endswith(("?", "？")):
        return True
    words = _WORDS.findall(_CLAUSE.sub(lambda match: "" if _clause_of(match, asks=False) else match[0], query))
    return len(words) > _KEYWORDS


def _clause_of(match: re.Match[str], asks: bool) -> Clause | None:
    """Return the operator that a match is; None where it is text."""
    sign, field = match["sign"], match["field"]
    need: Need = "not" if sign == "-" else "must" if sign or field else "may"
    phrase = match["straight"] if match["straight"] is not None else match["curly"]
    if phrase is not None:
        if not _WORD.search(phrase):
            return None
        return Clause("phrase", phrase.strip(), need if asks or need == "not" else "must", field)
    if match["suffix"]:
        if match["suffix"] == "*":
            return Clause("prefix", match["stem"], need, field)
        return Clause("typo", match["stem"], need, field, edits=int(match["suffix"][1:] or 1))
    bare = match["bare"].rstrip(_ENDING)
    if need == "may" or not _WORD.search(bare):
        return None
    if sign and not field and _FLAG.fullmatch(bare):
        return None
    return Clause("word", bare, need, field)
