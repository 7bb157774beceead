"""German questions in English grammar: words of grammar translated, all others as they are.

The rules for the parts of a question look at words of grammar and at where verbs stand, and both languages ask for who, when and
where alike. So a German question is read with its words of grammar in English, and so are the sentences that may answer it; the
nouns of both stay German and meet each other. A noun behind an article is no name, however it is written.
"""

from __future__ import annotations

import re
from typing import Final

_TABLE: Final = """
who wer wen wem
whose wessen
what was
where wo wohin woher
when wann
why warum wieso weshalb
which welche welcher welches welchen welchem
the der die das den dem des
a ein eine einen einem einer eines
our unser unsere unseren unserem unserer
its sein seine seinen seinem seiner ihr ihre ihren ihrem ihrer
is ist wird
are sind werden
was wurde war
were wurden waren
has hat
have haben
had hatte hatten
does tut
can kann können
in im ins
on am auf
at an bei beim
from von vom
to zum zur zu
for für
with mit
until bis
since seit
by durch
under unter
over über
after nach
before vor vorher
per pro
and und
or oder
but aber sondern
not nicht
no kein keine keinen keinem keiner
never nie niemals
nobody niemand
maybe vielleicht eventuell
might könnte sollte
formerly früher ehemals bisher damals
he er
she sie
it es
because weil wegen
that dass
this dieser diese dieses diesen diesem
everyone alle
we wir
you man
owns gehört
stands steht befindet hängt
lies liegt
costs kostet kosten
called heißt heisst genannt
runs läuft
leads leitet
leader leiter leiterin leitung
responsible verantwortlich zuständig
opens öffnet
closes schließt
begins beginnt
ends endet
leaves fährt
bought gekauft
sold verkauft
paid bezahlt
carries trägt
last zuletzt
euro euros
days tage tagen
hours stunden
minutes minuten
weeks wochen
months monate monaten
years jahre jahren
degrees grad
metres meter metern
percent prozent
daily täglich
weekly wöchentlich
monthly monatlich
yearly jährlich
every jeden jede jedes
january januar
february februar
march märz
may mai
june juni
july juli
october oktober
december dezember
monday montag montags
tuesday dienstag dienstags
wednesday mittwoch mittwochs
thursday donnerstag donnerstags
friday freitag freitags
saturday samstag samstags sonnabend
sunday sonntag sonntags
now jetzt nun
currently derzeit momentan aktuell
today heute
long lang lange
often oft
high hoch
big groß gross
old alt
deep tief
wide breit
heavy schwer
warm warm
fast schnell
far weit
"""
_WORDS: Final = {german: line.split()[0] for line in _TABLE.strip().split("\n") for german in line.split()[1:]}
_ARTICLES: Final = re.compile(
    r"\b((?:der|die|das|den|dem|des|eine?[nmrs]?|unser\w*|ihre?\w*|seine?\w*|i[mn]s|im|am|beim|vom|zu[mr]|pro|welche\w*|viele|wieviel\w*)"
    r"(?: (?-i:[a-zäöüß]+)e[nrsm]?)?) (?-i:([A-ZÄÖÜ])(?=[a-zäöüß]))",
    re.IGNORECASE,
)
_PHRASES: Final = (
    (re.compile(r"\b(\d\d?)\. ?(?=[A-ZÄÖÜ][a-zä]+)"), r"\1 "),
    (re.compile(r"\b(\d\d?) Uhr\b"), r"\1:00"),
    (re.compile(r"\b(\d\d?:\d\d) Uhr\b"), r"\1"),
    (re.compile(r"\bwie ?viele\b", re.IGNORECASE), "how many"),
    (re.compile(r"\bwie ?viel\b", re.IGNORECASE), "how much"),
    (re.compile(r"\bwie heiß(?:t|en)\b", re.IGNORECASE), "who is"),
    (re.compile(r"\bwie\b", re.IGNORECASE), "how"),
    (re.compile(r"\bes gibt\b", re.IGNORECASE), "it has"),
    (re.compile(r"\bgehört(?= (?:in|zu|auf|an)\b)", re.IGNORECASE), "is"),
    (re.compile(r"\bgehört\b(?=[^.]*\bzu[mr]?\b)", re.IGNORECASE), "is"),
)
_QUESTION: Final = re.compile(
    r"\W*(?:(?:in|an|auf|bis|seit|ab|von|mit|für|um|zu|bei) )?(?:we[rnm]|wessen|woher|wohin|wo|wann|warum|wieso|weshalb|wie(?: ?viele?)?|"
    r"welche[rsnm]?|was (?=\w+ (?:der|die|das|den|dem|ein\w*|unser\w*)\b|kostet|ist|sind|hat|macht))\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W\d_]+")


def is_german(question: str) -> bool:
    """Return whether a question begins with a German question word."""
    return _QUESTION.match(question) is not None


def is_grammar_word(word: str) -> bool:
    """Return whether a German word in lower case is one of those that are read in English."""
    return word in _WORDS


def in_english_grammar(text: str) -> str:
    """Return a German text with its grammar in English; nouns behind articles in lower case."""
    text = _ARTICLES.sub(lambda found: f"{found[1]} {found[2].lower()}", text)
    for pattern, words in _PHRASES:
        text = pattern.sub(words, text)
    return _WORD.sub(lambda found: _WORDS.get(found[0].lower(), found[0]), text)
