"""Wording: words of a sentence, and which of them say what a word of a question says.

Forms of one word say the same (``insures``, ``insurance``), words of one family do in questions about work (``maintains``, ``owner``),
and so does, of a word that no family has, its nearest neighbour in the bundled table of vectors.
"""

from __future__ import annotations

import functools
import math
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from lamina_engine.facts import vocabulary
from lamina_engine.index.analysis import query_analyzer

if TYPE_CHECKING:
    from lamina_engine.embed.bundled import WordLlamaEmbedder

_FAMILIES: Final = """
own owner owns owned run runs lead leads leader led head heads manage manages manager managed charge responsible maintain maintains
maintainer maintained look looks looked after care boss chair chairs chaired administer administers
chair chairs chaired chairman chairwoman chairperson president preside presides
supply supplies supplied supplier deliver delivers delivered provide provides provided provider vendor come comes came
make makes made maker manufacturer manufactured build builds built come comes came
sell sells sold
buy buys bought order orders ordered purchase purchased
send sends sent
ask contact talk reach
cost costs costing price pay pays paid charge charges charged euro euros eur dollars francs € $ £ worth
rent lease pay
fit fits room space capacity
temperature degrees
live lives lived home house moved flat resides
based located sits sit works lives lived office desk
leave leaves leaving left quit quits
end ends ended expire expires expired lapse lapses until close closes closed valid stops over shut runs
launch launches start starts started begin begins began join joins joined since opened opens launched
store stores stored keep keeps kept save saved lie lies lives cached held moved goes
keep keeps kept hold retention retain retained
host hosts hosted machine server box vm
move moved switch switched migrate migrated change changed replace replaced went
outage offline down broken failed failure fails incident
write writes wrote written author authored writer
fix fixed repair repaired mended solved
last lasts lasted take takes took
take takes took taken
give gives gave given
pin pinned held stays
insure insures insurer insurance insured
number phone mobile telephone
recover recovered rescued saved
destroy destroyed delete deleted shredded removed wiped
install installed mounted set fitted
double twice
document documents docs
deadline due by latest submitted handed
rely relies uses depends depend needs
minimum min least lowest
maximum max most upper highest largest
pay paid salary earn earns wage
power electricity
job profession
""".strip().split("\n")
_PHRASES: Final = re.compile(
    r"\b(?:(?P<expires>(?:runs?|ran|running) out)|(?P<manages>(?:is|are|was|be) in charge of|(?:takes?|took) care of|"
    r"look(?:s|ed)? after)|"
    r"(?P<submitted>hand(?:s|ed)? in|sent in)|(?P<closed>shuts? down|switched off|shut off)|(?P<replaced>takes? over from|took over from)|"
    r"(?P<launched>go(?:es)? live|went live)|(?P<repaired>sorted out))\b",
    re.IGNORECASE,
)  # fmt: skip
"""Verbs of several words, by the one word that stands for each."""
_LEAST_AKIN: Final = 5
_MOST_AKIN: Final = 3
"""Letters by which forms of one word differ: a ciphertext is no cipher."""
_NEAR: Final = 0.5
_SURE: Final = 0.8
"""Likeness of two words of a family."""
_LIKELY: Final = 0.6
"""The same of neighbours, and of one word in another."""
_PART_CHARS: Final = 5


def _family_numbers() -> dict[str, frozenset[int]]:
    found: defaultdict[str, set[int]] = defaultdict(set)
    for number, line in enumerate(_FAMILIES):
        for word in line.split():
            found[word].add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


_FAMILY_OF: Final = _family_numbers()
_NONE: Final[frozenset[int]] = frozenset()
_PARTS: Final = re.compile(r"[._/:'’@&+-]+")
TOKEN: Final = re.compile(r"[~<>≥≤]?[^\W_]+(?:[._'’:/@#+&,–-]+[^\W_]+)*[+#]*|#[\w-]+|[%€$£=→]")


def tokens(text: str) -> list[str]:
    """Return the words and signs of a text, without possessive endings."""
    text = _PHRASES.sub(lambda match: match.lastgroup or "", text)
    return [re.sub(r"['’]s?$", "", match[0]) for match in TOKEN.finditer(text)]


@functools.lru_cache(1 << 15)
def stem(word: str) -> str:
    """Return the stem of a word in lower case; of an identifier, the stem of its joined form."""
    terms = query_analyzer().tokens(vocabulary.SPELLINGS.get(word, word))
    return terms[-1].stem if terms else word


@functools.lru_cache(1 << 16)
def is_akin(first: str, second: str) -> bool:
    """Return whether two stems are forms of one word: ``approv`` and ``approver``."""
    if first == second:
        return True
    shorter, longer = sorted((first, second), key=len)
    if longer in (f"{shorter}er", f"{shorter}or") and len(shorter) >= _LEAST_AKIN - 1:
        return True
    return (
        len(shorter) >= _LEAST_AKIN
        and len(longer) - len(shorter) <= _MOST_AKIN
        and longer.startswith(shorter[: max(_LEAST_AKIN, len(shorter) - 2)])
    )


@functools.lru_cache(1 << 15)
def parts(word: str) -> tuple[str, ...]:
    """Return a word and, of an identifier, its parts."""
    return tuple(dict.fromkeys((word, *filter(None, _PARTS.split(word)))))


def in_family(word: str) -> bool:
    """Return whether a word stands in a family."""
    return word in _FAMILY_OF


@functools.lru_cache(1 << 16)
def likeness(asked: str, said: str) -> float:
    """Return how far a word of a sentence says what a word of a question does, from 0 to 1."""
    if asked == said:
        return 1.0
    first, second = stem(asked), stem(said)
    if first == second or (is_akin(first, second) and asked.isalpha()):
        return 0.9
    if _FAMILY_OF.get(asked, _NONE) & _FAMILY_OF.get(said, _NONE):
        return _SURE
    is_part = min(len(asked), len(said)) >= _PART_CHARS and asked.isalpha() and said.endswith(asked)
    return _LIKELY if is_part else 0.0


def is_near(asked: str, said: str) -> bool:
    """Return whether the table of vectors has two words for neighbours."""
    return asked.isalpha() and said.isalpha() and nearness(asked, said) >= _NEAR


@functools.cache
def _table() -> WordLlamaEmbedder:
    from lamina_engine.embed.bundled import WordLlamaEmbedder

    return WordLlamaEmbedder()


@functools.lru_cache(1 << 13)
def _vector(words: str) -> list[float]:
    vector: list[float] = _table().embed_query(words).tolist()
    return vector


def nearness(word: str, phrase: str) -> float:
    """Return the cosine of a word and a few words, in [-1, 1]; the exact sum, rounded once."""
    return math.fsum(a * b for a, b in zip(_vector(word), _vector(phrase), strict=True))


@functools.lru_cache(1 << 12)
def nearest(word: str, phrases: tuple[str, ...]) -> tuple[str, float]:
    """Return the phrase nearest to a word, and their cosine; the first of equal ones."""
    found = max(phrases, key=lambda phrase: (nearness(word, phrase), phrase))
    return found, nearness(word, found)
