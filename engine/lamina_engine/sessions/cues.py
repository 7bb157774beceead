"""Cues: words by which decisions, open points, rules and causes are found in talk.

English, with some German; what a session was asked, did, touched and failed at is read without them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from typing import Final

from lamina_engine.expressions import late
from lamina_engine.index.analysis import STOP_WORDS
from lamina_engine.time import changes

_FENCE: Final = late(r"(?:^|\n) {0,3}(```|~~~).*?(?:\n {0,3}\1[^\n]*|\Z)", re.DOTALL)
_INSERTED: Final = late(
    r"<(system-reminder|ide_[a-z_]+|task-notification|teammate-message|local-command-[a-z]+|bash-[a-z]+|command-[a-z]+|"
    r"environment_context|user_instructions|user_memory_input|persisted-output)\b[^>]*>.*?(?:</\1>|\Z)",
    re.DOTALL,
)
_IDE_REQUEST: Final = late(r"## My request for [\w ]+:\s*\n")
_ACKNOWLEDGED: Final = late(
    r"(?:ok(?:ay)?|yes|yep|yeah|no|nope|sure|thanks?|thank you|thx|great|perfect|nice|cool|good|awesome|lgtm|done|right|correct|"
    r"continue|go on|go ahead|proceed|next|retry|try again|again|resume|keep going|please|do it|commit(?: this| it)?|push(?: it)?|"
    r"hi|hello|hey|warmup|stop|wait|hm+|ja|nein|danke|weiter|mach weiter|so|then|it|that|this|looks?|and|now|very|well|much|"
    r"job|work|run|rerun|"
    r"everything|all|tests?|finish|fine|start)"
)
_MENU: Final = late(
    r"/(?:"
    r"clear|compact|model|cost|resume|help|login|logout|config|status|exit|quit|memory|mcp|agents|hooks|init|permiss"
    r"ions|add-dir|ide|doctor|context|usage|rewind|export|fast|vim|theme|new|diff|approvals"
    r")(?:\s|\Z)"
)
"""Commands of the programs themselves."""


def plain_prompt(text: str) -> str:
    """Return the words that a person typed, without what programs put around them."""
    text = _INSERTED.sub("", text)
    found = _IDE_REQUEST.search(text)
    if found is not None:
        text = text[found.end() :]
    return text.strip()


def is_substantial(text: str) -> bool:
    """Return whether a prompt asks for something: "ok thanks", a shell line, /clear do not."""
    if text.startswith(("! ", "[Request interrupted", "[Image]\n")) or _MENU.match(text):
        return False
    if text.startswith("/") and " " not in text:
        return False
    words = re.findall(r"[^\W\d_][\w'\u2019-]*", text.lower())
    if not text.isascii() and any(
        sign > "\u2e80" and sign.isalpha() for sign in text
    ):  # words without blanks, and no emoji
        return len(text) >= 6
    return len(words) >= 3 and len([*islice(_subjects(words), 2)]) == 2


def names_something(text: str) -> bool:
    """Return whether a text has a word of its own; "let's do it" has none."""
    return any(True for _ in _subjects(re.findall(r"[^\W\d_][\w-]+", text.lower())))


_TALK_WORDS: Final = (
    "actually after again also anyway away back better completely done either else enough even ever every fine "
    "first good great have here just keep last leave less like little look make maybe mean more most much must "
    "need never next nice nothing okay only other part please quite rather really right same should since some "
    "something still sure take than thanks that them then there these thing things think this those though time "
    "today together tomorrow very want well what when whole will with without work would aber alles auch dann "
    "dass doch eine einen einfach erst ganz gibt habe haben immer jetzt kann lassen lieber machen mehr nehmen "
    "nicht noch oder raus schon sein sind statt über wieder wird zurück "
    "agreed because chose chosen decided decision entschieden geht gehen goes heißt keeps kommt kommen läuft laufen "
    "liegt liegen runs steht stehen use uses used using don weil "
)
TALK: Final = frozenset(_TALK_WORDS.split())
"""Words of any talk: they do not say what is meant."""


def _subjects(words: Iterable[str]) -> Iterator[str]:
    return (word for word in words if word not in STOP_WORDS and not _ACKNOWLEDGED.fullmatch(word))


_BULLET: Final = late(r"^\s*(?:[-*+•]|\d+[.)])\s+(?:\[[ xX]\]\s*)?")
_BORDER: Final = late(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bProf)(?<!\bNr)(?<!\bbzw)"
    r"[.!?…。！？](?!(?<=\d\.) (?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b)"
    r"(?:(?<=[。！？])|[\"'”)\]]?\s+(?=[\"'“(`*\[]?[A-ZÄÖÜ0-9])|(?<=\w\?)\s+(?=\w))"
)
_LONGEST: Final = 1_000
"""Characters of a sentence."""
_MARKS: Final = late(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
"""Of emphasis, or of names such as ``_balance`` and ``**kwargs``: cues are looked for without them, quotations keep them."""
_STRONG: Final = late(
    r"(?P<kept>`[^`]*`)|(?<![\w*/\\.=])\*\*(?=[^\W_]|[`\"'(\[„“«])(?P<told>[^*]*[^*\s/\\])\*\*(?![\w*/\\]|\.\w)"
)
"""Emphasis and nothing else: what single marks mean, stars or underscores, nobody can tell from those of names and patterns."""


def without_code(text: str) -> str:
    """Return a text without its code blocks."""
    return _FENCE.sub("\n", text) if "```" in text or "~~~" in text else text


def without_emphasis(text: str) -> str:
    """Return a text without the marks of strong emphasis; every other mark means something."""
    return _STRONG.sub(lambda found: found["kept"] or found["told"], text) if "**" in text else text


def _without_marks(text: str) -> str:
    """Return a text as cues are looked for in it."""
    return _MARKS.sub("", text) if "*" in text or "_" in text else text


@functools.lru_cache(maxsize=16)  # a prompt is read for six reasons, a reply for three
def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text, but for code, tables and headings, without bullets."""
    return tuple(_sentences(text))


def _sentences(text: str) -> Iterator[str]:
    for line in without_code(text).splitlines():
        if line.lstrip().startswith(("|", "#", ">")):
            continue
        bullet = _BULLET.match(line)
        line = line if bullet is None else line[bullet.end() :]
        line = without_emphasis(line).strip().replace("\u2019", "'")
        start = 0
        for border in _BORDER.finditer(line):
            yield from _parts(line[start : border.end()].strip())
            start = border.end()
        yield from _parts(line[start:].strip())


def _parts(sentence: str) -> Iterator[str]:
    """Yield a sentence; one that is too long in parts, as each cue looks at the whole of it."""
    start, asks = 0, sentence.endswith("?")
    while len(sentence) - start > _LONGEST:
        end = sentence.rfind(" ", start + 1, start + _LONGEST + 1)
        end = start + _LONGEST if end < 0 else end
        if not asks:  # the parts before the last would not be known as those of a question
            yield sentence[start:end].strip()
        start = end
    if rest := sentence[start:].strip():
        yield rest


def sentences_with_next(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence of a text with the one after it, which is empty at the end."""
    yield from pairwise([*sentences(text), ""])


class Cue:
    """An expression in small letters, and pieces: all that it finds holds at least one.

    Most sentences hold no piece, and to look for twenty takes a tenth of what the expression takes.
    """

    __slots__ = ("pattern", "pieces")

    def __init__(self, expression: str, pieces: tuple[str, ...] = ("",)) -> None:
        self.pattern, self.pieces = late(expression), pieces

    def search(self, lowered: str) -> re.Match[str] | None:
        """Search a text in small letters."""
        for piece in self.pieces:
            if piece in lowered:
                return self.pattern.search(lowered)
        return None


def _any(*patterns: str, pieces: str = "") -> Cue:
    """Compile alternatives that begin where no word goes on; bars part the pieces."""
    # tried at each letter of most sentences: one that begins with a letter itself, and not with a border or in either case, is
    # turned down by its first letter
    return _cue(rf"(?<!\w)(?:{'|'.join(patterns)})", pieces)


def _cue(pattern: str, pieces: str = "") -> Cue:
    return Cue(pattern, tuple(pieces.split("|")))


def _holds(cue: Cue, text: str) -> bool:
    """Return whether a cue stands in a text."""
    return cue.search(_without_marks(text.lower())) is not None


_DATE: Final = (
    r"\d{1,2}(?:st|nd|rd|th|\.)? ?(?:of )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*|"
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2}(?!\d)|\d{4}-\d\d-\d\d"
)
_USER_DECISION: Final = _any(
    r"let(?:'?s| us) (?:rather )?(?:use|go with|stick|keep|drop|not|do|switch|take|make|call|leave|put|stay|skip|move|have|store|add|"
    r"avoid|forget|throw|get|revert)\b",
    r"(?:^|(?<=[^\W\d_]{2}[.:!] ))(?:(?:please|then|and|so|ok(?:ay)?)\b,? )*(?:set|raise|lower|limit|cap|reduce|increase) "
    r"(?:[^\s,;.!?]+ ){1,5}(?:to|at) \d",
    r"^agreed\b[,.;:!]? *\w|^(?:ok(?:ay)?|yes|good|fine|right),? so\b",
    r"(?:make|give|set|keep|limit|raise|lower|cap)\b (?:it|this|that|them|these|those|the|each|every)\b.*\d",
    r"(?:^|(?<=[^\W\d_]{2}[.:!] ))(?:[\w.=-]+ ){0,4}[\w.-]+, not (?!yet|sure|now|really|only)[\w.-]+",
    r"(?:we|i)(?:'ll| will| have|'ve|'re| are|'m| am)? ?(?:decided|agreed|go(?:ing)? with(?= \S)|"
    r"stick(?:ing)? (?:to|with)|prefer|chose|picked)\b",
    r"(?:we|i)(?:'ll| will| have|'ve)? ?settled on\b",
    r"^(?:(?:please|then|and|so|ok(?:ay)?)\b,? )*(?:send|put|store|save|write|print|show|serve|host|deploy|read|sort|round|name|call|"
    r"return|move|switch)\b .*\b(?:instead of|rather than)\b",
    r"(?:use|take|keep|pick|choose|prefer|make it|do|want)\b.+\b(?:instead|rather than|over the|, not)\b",
    r"^(?:no|nope)\b[,.;:! ]+(?!idea|problem|worries|need|thanks).{12,}",
    r"^(?:yes|ok|okay|agreed|fine|good|right)[,.;:! ]+(?:let's|go with|use|do|keep|make|take|option)\b",
    r"(?:decision|decided|final answer)\s*:|decision is (?!yours?\b|up\b|not\b|still\b|open\b|pending\b|hard\b|made\b|wrong\b)",
    r"go (?:with|for) (?:the |option |plan |approach |variant |a |an )",
    r"i'?d rather\b|i would rather\b|we (?:don't|do not|won't) (?:want|use|need|ship|support)\b",
    r"(?:don't|do not) (?:use|add|touch|change|break|introduce|rename|remove|delete)\b",
    r"^(?:(?:no|wait|actually|please|and|but|also|ok|hm+)[,.]? )*(?:don't|do not|stop|avoid|never)\b .{8,}",
    r"(?:must(?: not|n't| stay| keep| remain| be)|ha(?:s|ve) to stay)\b",
    rf"(?:releas|deadline|due\b|launch|freeze|go[- ]live|cut[- ]?over|switch|ship)\w*.{{0,60}}\b(?:{_DATE})",
    r"(?:wir nehmen|wir machen|lass uns|entschieden|lieber)\b",
)
_IT_IS: Final = late(
    r"(?:(?:ok(?:ay)?|yes|right|fine|good|well|so|then)\b[,.]? )*(?:[\w.+#-]+ )?"
    r"(?!(?:as|what|whatever|where|how|like|here|there|so|that|because|if|and|but|which|when|it|leave|of|for|to|is|think|sure)\b)"
    r"[\w.+#-]+ it is(?=[.!]*$|,| (?:then|because)\b)"
)
"""Matched at the start of a sentence only: "Postgres it is"."""
_AGENT_DECISION: Final = _any(
    r"(?:i|we)(?:'ve| have)? (?:decided|chose|opted|went with|picked|settled on)\b",
    r"(?:i|we)(?:'ve| have)? kept .{3,60} (?:rather than|instead of)\b",
    r"(?:decided|opted|chose) (?:to|against|for)\b|(?:going|went|go) with\b.{3,}",
    r"(?:we|i)(?:'ll| will) (?:use|go with|keep|store|stick)\b.+\b(?:because|since|instead|rather|so that)\b",
    r"decision\b[^.:]{0,15}:|as agreed\b|agreed (?:to|on|that)\b|entscheidung\s*:",
    r"wir haben uns (?:(?!nicht\b)[^\s.!?]+ ){1,12}entschieden\b|ich habe mich (?:(?!nicht\b)[^\s.!?]+ ){1,12}entschieden\b",
    r"(?:instead of|rather than)\b.+\b(?:because|since|so that|as it)\b|because\b.+\b(?:instead of|rather than)\b",
    pieces="decided|chose|opted|go with|going with|went with|picked|settled on|instead|rather|because|since|"
    "so that|decision|agreed|entsch",
)
_NAME: Final = r"[^\W\d][^\s\d,;:!?]*(?<!\.)"
_NAMED_USE: Final = (
    r"(?:^|(?<=[;:.!] )|^(?:in|for|im|in|für|bei|when|wenn)\b[^,;:.!]*, |\b(?:please|bitte|always|just|only) )"
    r"(?:use|take|nimm|nutze?|benutze?|verwende) "
    rf"(?:only |nur )?{_NAME}"
)
"""A tool or a unit by its one word: with an article or a number it is a choice of the moment."""
_NORM: Final = (
    r"(?:no|not|never|always|only|plain|at (?:most|least)|please|don't|do not|must|should|use|keep|ask|write|without|"
    r"kein\w*|nicht|nie|niemals|immer|nur|höchstens|mindestens|bitte|ohne|soll\w*)"
)
"""Says how something is to be done."""
_LEAD: Final = r"(?:(?:and|but|also|so|ok|please|und|aber|also|bitte)\b,? )*"
_SUBJECT_FIRST: Final = (
    r"(?:it|i|we|they|he|she|there|the|that|this|these|those|my|our|some|nothing|"
    r"es|das|ich|wir|man|der|die|sie|er|mir|uns|nichts)\b"
)
"""Begins a sentence that says what is so."""
_WHEN_YOU: Final = (
    r"(?:(?:when(?:ever)?|every time|each time) you (?!(?:are|have|get|see|can|need|think|want|finish|did|ran|were|had|wrote|made|sent)\b|"
    r"\w+ed\b)[a-z]+\b|"
    r"(?:wenn|jedes mal,? wenn) du (?:[^\s,;.!?]+ ){0,6}(?!hast|bist|kannst|willst|magst|musst)[^\W\d_]{3,}st\b)"
)
"""Says of which work a rule is."""
_FOR_ONCE: Final = _cue(
    r"\b(?:(?:just|only) (?:this|for) (?:once|now|today)|this (?:once|time)|for once|for (?:now|today|tonight)|today only|"
    r"(?:for|in|with|on) (?:just )?(?:this|that|the next) (?:one|single|(?:one |single )?(?:run|rerun|test|check|build|command|call|"
    r"deploy\w*|migration|query|upload|import|export|order|trip|letter|mail|message|meeting|attempt|try|shot|release))\b|"
    r"diesmal|dieses (?:eine )?mal|ausnahmsweise|nur (?:heute|jetzt|kurz)|heute (?:mal|nur|ausnahmsweise)|"
    r"für (?:diese[nrs]?|den nächsten|das nächste) "
    r"(?:einen?|eine|lauf|test|befehl|build|aufruf|import|export|abfrage|einkauf|brief|mail))\b",
    pieces="once|this |that |the next |for now|for today|for tonight|today only|diesmal|mal|ausnahmsweise|nur |heute |für ",
)
"""Holds for one occasion, which its nouns name: "for this project" lasts."""
_LASTING: Final = _any(r"(?:always|never|from now on|immer|nie|niemals|ab (?:jetzt|sofort))\b")
_NEVER_DE: Final = r"(?<!noch )nie(?:mals)?(?! wieder[.!]?\Z)|(?:auf|unter) kein(?:en|e) (?:fall|umständen)"
_REPORTS_DE: Final = (
    r"ha(?:be|t|st|ben|bt|tten?|ttest)|ist|sind|bin|bist|seid|waren?|warst|wurden?|wird|werden|würden?|kann|können|konnten?|wollten?|"
    r"ich|wir|man"
)
"""Says what was or will be, and orders nothing."""
_RULE: Final = _any(
    r"(?:^|(?<=[,;:–—])|(?<=[,;:–—] )|\bplease |\band |\bbut |\byou (?:must |should )?|\bwe (?:must |should )?)(?:always|never)\b"
    r"(?!\s+(?:mind|been|works?|seen|loads?|got|had|did|was|were|went|saw|knew|came|found|made|said|took|ran|wrote|thought|"
    r"(?!need|feed|embed|seed|exceed|proceed)[^\W\d_]{2,}ed)\b)",
    r"(?:from now on|in (?:the )?future,|don't ever|every time you|remember that\b|keep in mind|by convention)\b",
    r"(?:remember|important|bear in mind|note for (?:later|the future)|wichtig|merk (?:dir|es dir)|"
    r"denk (?:bitte )?(?:immer )?(?:dran|daran))(?:, (?:please|bitte))?(?: is| ist)?:",
    rf"^{_LEAD}{_WHEN_YOU}[^,:]*[,:] (?!{_SUBJECT_FIRST}|\w+ (?:es|das|ich|wir|man|der|die|sie|er)\b)(?=.*\b{_NORM}\b)",
    rf"^(?!{_LEAD}{_SUBJECT_FIRST})(?=.*\b{_NORM}\b.*\b(?:when|wenn)).*\b{_WHEN_YOU}",
    r"our (?:convention|policy|rule|standard)\b|must (?:never|always)\b|rules?\s*:",
    r"we (?:must|may|can) ?not\b.*\b(?:before|until|unless|without)\b",
    r"(?:in|for) this (?:project|repo|repository|codebase)\b.*\b(?:we|use|must|is|are|should)\b",
    r"(?:immer|niemals|ab jetzt|ab sofort)\b",
    r"next time,? (?:please |you (?:should |must )|we (?:should |must )?)?(?:use|take|call|ask|tell|avoid|wait|don't|do not|make sure)\b",
    r"nächstes mal (?:bitte )?(?:nimm|nutze?|benutze?|verwende|frage?)\b",
    r"(?:(?:keep|leave) )?(?:your|all) hands off (?!approach|mode)",
    r"(?:^(?:please,? )?|(?<=[,;:.!] )(?:please,? )?)hands off (?!approach|mode)",
    r"(?:finger|hände|pfoten) weg\b|die finger von\b|off[- ]limits\b|(?:ist|sind|bleibt|bleiben) tabu\b",
    rf"{_NAMED_USE}, (?:and |und )?(?:not|never|no|nicht|nie|kein\w*) {_NAME}(?=[.,;!]|\Z)",
    rf"nur {_NAME} (?!habe?n\b|ware?n\b|sind\b|wurden\b)\w+en, (?:und )?(?:nicht|nie|kein\w*) {_NAME}(?=[.,;!]|\Z)",
    rf"(?:only|nur) {_NAME}, (?:and |und )?(?:never|nie|niemals) (?:[a-zäöü]+ ){{0,2}}{_NAME}(?=[.,;!]|\Z)",
    rf"bitte (?:[^\s,;.!?]+ ){{0,4}}?(?:{_NEVER_DE})\b",
    rf"(?:darf|darfst|dürft|dürfen|sollst|sollt|muss|musst) (?:[^\s,;.!?]+ ){{0,6}}?(?:{_NEVER_DE})\b",
    r"(?!hast|bist|warst|hattest|wirst|kannst|weißt|schaffst|glaubst|errätst|findest|hat|ist|war|habt|seid)"
    rf"[^\W\d_]+t (?:du|ihr) (?:[^\s,;.!?]+ ){{0,6}}?(?:{_NEVER_DE})\b",
    pieces="always|ever|from now on|in future|in the future|remember that|keep in mind|by convention|our |must|"
    "rule|we may|we can|this project|this repo|this codebase|immer|niemals|ab jetzt|ab sofort|next time|"
    "nächstes mal|remember|important|in mind|note for|wichtig|merk|denk|when|time you|wenn|hands off| weg|finger|off-limits|"
    "off limits|tabu|, |nie|keine",
)
_NEVER_TO: Final = _any(
    rf"(?:^|(?<=[,;:.!] ))(?![^,;.!]*\b(?:{_REPORTS_DE})\b)(?!(?:der|die|das|eine?|unsere?) [^,;.! ]+ [^,;.! ]+t nie)"
    rf"[^,;.!]*?\b(?:{_NEVER_DE}) (?:[^,;.!]* )?(?P<verb>(?!oben|unten|eben\b|neben\b|innen|außen|draußen|hinten|morgen|zusammen|selten)"
    r"[^\W\d_]+(?:en|rn|ln))(?=[,;.!]|\Z)",
    pieces="nie|keine",
)
"""German orders by an infinitive: "vendor/ nie anfassen"; a noun at the end, with its capital, is none."""
_CAUSE: Final = _any(
    r"(?:that's why|root cause|culprit|turns? out|turned out|the trick)\b",
    r"the (?:real |actual |underlying )?(?:problem|issue|bug|cause|reason|error|failure) (?:is|was|here|lies|comes|came)\b",
    r"(?:is|was|were|are) caused by\b|because\b|due to\b",
    r"(?:happens|happened|fail(?:s|ed)?|failing|breaks|broke|crashe[sd]) (?:when|since|as)\b",
    r"the fix (?:is|was)\b|(?:fixed|mended|solved|resolved) (?:it |this |that |the \w+ )?by\b|(?:fix|ursache|lag an)\b\s*:",
)
_TO_DO: Final = r"to-do\b|todos?(?=\s*[:(\[]| (?:list|items?|comments?|notes?)\b)|todos?(?:(?<=the todo)|(?<=my todo)|(?<=is a todo))\b"
"""Not the bare word in small letters: *todo* is "all" in Spanish and Portuguese."""
_MARKED: Final = late(r"\bTODO\b")
_LATER: Final = _any(
    r"not (?:before|until)\b|only after\b|(?:on|to) the (?:to-?do )?list\b|(?:stays?|leave it) open\b",
    r"not (?:today|this week)\b|(?:heute|diese woche) nicht mehr\b|nicht (?:heute|diese woche)\b",
    r"(?:later|tomorrow|next (?:time|session|week|sprint|month)|another (?:day|time|pr)|follow[- ]?ups?|not now|for now)\b",
    r"(?:park (?:it|this|that)|don't forget|remind me|still (?:need|have|needs) to|separate (?:pr|ticket|issue))\b",
    _TO_DO,
    r"(?:morgen|später|nächste[sn]? (?:mal|woche))\b",
    pieces="not today|not this week|nicht|not before|not until|only after| list| open|later|tomorrow|next |another |follow|now|park |"
    "don't forget|remind me|still |separate |to-do|todo|morgen|später|nächste",
)
_THINGS: Final = r"(?:tasks?|issues?|items?|points?|problems?|questions?|steps?|failures?|errors?|warnings?|todos?)"
_MARK_WORDS: Final = (
    r"(?:(?:still |noch )?(?:open|offen|left|to-?do|to do|missing|pending|remaining|unsolved|unfinished)(?: points?)?|"
    r"(?:still |noch )?(?:not|nicht) (?:yet )?(?:done|fixed|solved|finished|erledigt|fertig|gemacht|gelöst|behoben)|"
    r"(?:noch )?(?:zu tun|ausstehend)|es fehlt(?: noch)?|fehlt noch|offen (?:ist|bleibt)(?: noch)?)"
)
"""Words that mark an open point as one."""
_OPEN: Final = _any(
    r"(?:next steps?|outstanding|not yet|yet to|left to do|follow[- ]?ups?|out of scope)\b",
    rf"remaining (?:work|{_THINGS})\b|remaining\s*:|(?:{_THINGS}|work) (?:is |are )?remain(?:s|ing)?\b(?! (?:at|on|with|the same)\b)",
    r"remains?(?= (?:to\b|(?:still |yet )?(?:open(?=[.,;!]|\Z)|unclear|unknown|broken|missing|"
    r"un(?!changed|affected|touched|altered|modified)\w+ed)\b))",
    r"(?:^|what |that )remains?\s*[:.]",
    _TO_DO,
    r"still (?:needs?|to|missing|open|fails?|failing|pending|ha(?:ve|s) (?:to|no)|unclear|broken|not)\b",
    r"(?:open (?:question|issue|point|item)s?|left (?:for|open|out)|untested|unverified|unfinished|blocked|waiting (?:for|on))\b",
    rf"^{_MARK_WORDS}\s*:|needs? (?:a |your )?(?:decision|review|approval|input)\b",
    r"(?:haven't|hasn't|have not|has not|didn't|did not|couldn't|could not|wasn't able|was not able|unable to)\b",
    r"you(?:'ll| will)? (?:still )?(?:need|have) to\b|(?:noch offen|fehlt noch|steht noch aus)\b",
)
_STILL_OPEN: Final = _any(
    r"(?:is|are) still (?:missing|open|undone|pending|to (?:be )?do(?:ne)?)\b|left to do\b|"
    r"(?:noch offen|fehl(?:t|en) noch|steh(?:t|en) noch aus)\b",
    pieces="still |left to do|noch",
)
_BY_WHEN: Final = _cue(
    rf"\b(?:by|until|before|due|deadline|bis|vor|spätestens)\b.{{0,30}}(?:\d|\b(?:{_DATE})|day\b|tag\b|woche\b|week\b|month\b|monat\b)"
)
"""Says by when what the sentence before leaves open is needed."""
_ASSENT: Final = late(
    r"(?:ok(?:ay)?|yes|yep|yeah|ja|agreed|sure|fine|good|great|perfect|nice|right|sounds good|looks good|do (?:that|it|so)|go ahead|"
    r"makes sense|\U0001f44d)(?!\w)",
    re.IGNORECASE,
)
_REFERS: Final = late(
    rf"^{_ASSENT.pattern}|^(?:no|nein)\b|"
    r"\b(?:it|them|both|that|those|these|ones?|so|then|(?:this|das)(?! [^\W\d_]{4,})|dies|dann|dabei|damit|davon)\b",
    re.IGNORECASE,
)
"""Agrees, denies, or points to what was said before it."""
_OWN_WORD: Final = late(r"\w*\d\w*|[^\W\d_]{4,}")
_SECOND_THOUGHT: Final = _cue(
    r"\b(?:wait|hm+|but|actually|instead|however|rather|though|scratch that|on second thought|except|not so|nein|doch)\b|^no\b",
)
_TAKEN_BACK: Final = late(r"\b(?:wait|hm+|scratch that|on second thought)\b[,.:;! ]*", re.IGNORECASE)
_PROPOSAL: Final = _any(
    r"i(?:'d| would) (?:\w+ )?(?:take|use|keep|suggest|propose|recommend|go with|set|make|put|say|choose|prefer|leave|drop|start with)\b",
    r"i (?:\w+ )?(?:suggest|propose|recommend)\b|(?:suggestion|proposal|recommendation|recommended)\s*:|(?:my|the) (?:suggestion|proposal|"
    r"recommendation) (?:is|would be)\b|i(?:'d| would)? think (?:that )?we should\b",
    r"would be (?:the )?(?:simplest|easiest|best|better|safest|cheapest|simpler|easier|safer|cheaper)\b",
    r"ich (?:würde|empfehle|schlage)\b|würde ich\b|(?:vorschlag|empfehlung)\s*:|mein(?:e)? (?:vorschlag|empfehlung) (?:ist|wäre)\b",
    pieces="i'd |i would|i think|suggest|propos|recommend|would be|würde|empfehl|schlag",
)
_DECIDED: Final = late(
    r"\b(?:i|we)(?:'ve| have)? (?:decided|chose|opted|went with|picked|settled on|kept)\b|\bas agreed\b|\bagreed (?:to|on|that)\b|"
    r"\bentschieden\b",
    re.IGNORECASE,
)
"""Says that it is settled, whatever was proposed before."""
_WITHDRAWN: Final = _cue(
    r"\b(?:(?:(?<!don't )(?<!not )forget|scrap|ditch|drop|revert|undo|abandon|vergiss(?! nicht)|vergesst(?! nicht)) "
    r"(?:about |the idea of |that idea of )?|(?:do|go|live) without |get rid of |"
    rf"(?:{changes.INSTEAD_OF}|{changes.NO_LONGER}) |not (?=\w*\d)|"
    r"no (?=[^.,;:!?]{3,40} (?:at all|after all|any ?more)\b)|"
    r"lass(?:t|en wir)? das mit |(?:throw|take|rip|kick) (?=[^.,;:!?]{3,60} out\b))(?P<what>[^.,;:!?]{3,60})",
    pieces="forget|vergiss|vergesst|scrap|ditch|drop|revert|undo|abandon|without|get rid of|instead of|rather than|"
    "place of|lieu of|statt |stelle|no longer|no more|nicht |not |no |lass|throw|take|rip|kick",
)
_BAD_IDEA: Final = (
    r"(?:(?:was|were) (?:an? )?(?:bad|poor|stupid|terrible|wrong|dumb) (?:idea|call|choice|move|decision)\b|"
    r"(?:was|were) a mistake(?= to\b| for\b|[,;.!]|\Z)|war (?:eine )?(?:schlechte|dumme|blöde|falsche) (?:idee|wahl|entscheidung)\b|"
    r"war ein fehler(?=[,;.!]|\Z))"
)
_MISTAKEN: Final = _cue(
    rf"(?:^|[,;:.!] )(?P<what>[^,;:.!?]{{3,60}}) {_BAD_IDEA}",
    pieces="idea|call|choice|move|decision|mistake|idee|wahl|entscheidung|fehler",
)
_THEN_NO: Final = r"(?:then|in that case|dann)[, ]+(?:no|not|nein|nicht)"
_NO_TOPIC: Final = (
    r"(?! (?:the |my |our |your |dem |den |der )?"
    r"(?:tests?|work|topics?|questions?|issue|problem|business|bugs?|basics|normal|point|you|me|us|this|frage|thema|arbeit|sache)\b)"
)
"""Where talk goes back to, and no work does, does not follow."""
TOO_MUCH: Final = r"(?:is|are|would be) (?:overkill|too (?:heavy|much)|not worth)|(?:ist|sind) (?:zu (?:schwer|viel|teuer)|übertrieben)"
"""Behind what somebody does without."""
_REVERSAL: Final = _any(
    r"(?:do|go|live|get by|manage) without\b|get(?:ting)? rid of\b|(?:go|going|went) back on\b",
    r"(?:throw|take|rip|pull|kick) (?:[^\s.,;]+ ){1,6}out\b",
    rf"(?:(?<=, )|\b(?:go|going|switch|switching|move|moving|fall|roll|change|changing|revert) )back to{_NO_TOPIC}\b",
    r"(?:^|(?<=[^\W\d_]{2}[.!] ))(?:(?:no|ok(?:ay)?|hm+|then|so|please|let's|let us|we)\b[, ]*)*"
    r"(?:revert|undo|scrap|ditch|abandon|drop|roll back|back out|vergiss(?! nicht\b)|vergesst(?! nicht\b)|"
    r"forget(?! (?:not|to|what|that|how|why|where|when|which|who|if)\b)|"
    rf"back to{_NO_TOPIC})\b",
    _BAD_IDEA,
    r"(?:forget|scrap|ditch|drop|abandon) (?:about )?(?:it|that|this|the (?:other|whole|old|first|second|idea|plan))\b",
    r"no [^.,;:!?]{3,40} (?:at all|any ?more)\b|lass(?:t|en wir)? das (?:mit|sein|weg)\b",
    rf"(?:{TOO_MUCH})\b",
    r"after all\b|(?:i|we)(?:'ve| have)? changed (?:my|our) minds?\b|no longer\b|never ?mind\b",
    rf"^{_THEN_NO}\b|zurück zu[mr]?{_NO_TOPIC}\b",
    r"(?:doch (?:nicht|kein|lieber|wieder)|wieder raus|werfen wir .{2,40} raus|fliegt .{0,20}raus)\b",
    pieces="without|rid of|back|throw|take|rip|pull|kick|revert|undo|scrap|ditch|abandon|drop|forget|at all|"
    "any more|anymore|lass|overkill|too heavy|too much|not worth|after all|changed|no longer|nevermind|"
    "never mind|then|in that case|dann|doch|raus|zurück|zu schwer|zu viel|zu teuer|übertrieben|vergiss|vergesst|"
    "idea|call|choice|move|decision|mistake|idee|wahl|entscheidung|fehler",
)
_POINTS_BACK: Final = _cue(
    r"\b(?:that|this|those|these|it|them|both|the (?:other|whole|entire|new|old|first|second|former|previous|last)|"
    rf"the \w+ (?:thing|stuff|idea|approach|plan)|das|die|den)\b|^{_THEN_NO}\b",
)
_UNDOING: Final = late(
    r"\bgit (?:branch -[dD]|revert|reset|restore|checkout --|rm)\b|(?:^|[;&|] ?)rm\b|\bdrop (?:table|index|column)\b|"
    r"\b(?:cargo|npm|pnpm|yarn|pip3?|uv|poetry|bundle|gem|composer|dotnet|helm|docker|apt(?:-get)?|brew)\b.* (?:remove|rm|uninstall)\b",
    re.IGNORECASE,
)
_OVER: Final = r"(?<!take )(?<!takes )(?<!took )(?<!taken )(?<!taking )over(?! to\b)"
"""Rather than: "Jinja over Mako", and not what is taken over."""
_REJECTED: Final = late(
    rf"\b(?:{changes.INSTEAD_OF}|{_OVER}|not|{changes.NO_LONGER}|without)\b [^,.;:!?]{{1,40}}", re.IGNORECASE
)
_ANEW: Final = _cue(r"\b(?:let'?s|let us|rather|instead|after all|make it|take|use|lieber|doch)\b")
_OPTION: Final = late(
    r"(?:^|[\s(])(?P<key>\d|[a-dA-D])[).:]\s+(?P<text>\S.*?)(?=\s\(?(?:\d|[a-dA-D])[).:]\s|\n|\Z)", re.DOTALL
)
_FIRST_OPTION: Final = late(r"[1aA][).:]\s")
_TAKEN: Final = late(
    r"(?:\b(?:option|variant|plan|number|want|take|prefer|go (?:with|for)|let'?s do|nehmen?)\s+#?|^)"
    r"(?P<key>\d|[a-d])(?=[.,;!]?(?:\s|\Z))(?! (?:is|are|would|looks|sounds|has|ist|wäre)\b)",
    re.MULTILINE,
)
_SUGGESTS: Final = _cue(
    r"\b(?:would|could|should|has to|have to|needs? to|either|options?|alternatively|i'd|müsste|könnte|sollte|vorschlag)\b",
    pieces="would|could|should|has to|have to|need|either|option|alternativ|i'd|müsste|könnte|sollte|vorschlag",
)
_SPECIFIC: Final = late(r"\d|_(?<=\w_)\w|[A-Z](?<=[a-z][A-Z])|`[^`]+`")
"""Each alternative begins with a sign that is rare in sentences."""
_CORRECTS: Final = _cue(
    r"\b(?:is|are|was|looks?|that's|it's) (?:bad|wrong|ugly|too \w+|not (?:good|right|what))\b|"
    r"\bshould(?:n't| not)? (?:be|have)\b|\bmust be\b",
    pieces="bad|wrong|ugly|too |not |should|must be",
)
_FAULTY: Final = (
    r"(?:fails|failed|(?:is|are) (?:failing|red|broken|missing|gone|empty|down|stuck|lost)|crashes|crashed|hangs|hung|breaks|broke|"
    r"(?:doesn't|does not|didn't|don't) (?:work|run|start|build|compile|match)|stopped working|times out|timed out|throws|threw|"
    r"(?:has|have) (?:an? |the |some )?(?:wrong|typos?|bugs?|errors?|mistakes?))"
)
_REPORT: Final = _cue(
    r"^(?:(?:ok(?:ay)?|no|nope|hm+|now|and|but|so|well|oh|ah)\b[,.! ]*)*(?:"
    r"(?!if\b|when\b)(?:[^\s,;:.]+ ){0,4}there(?:'s| is| are| was| were)\b|"
    r"nothing (?:happens|changes|works)\b|still (?!keep|use)|expected:? .*\bgot\b|"
    r"(?:it|this|that|the \w+|our \w+|[^\s,;:.]+) (?:now |still |also )?(?:says?|said|shows?|showed|prints?|printed|reports?|reported|"
    r"complains?|complained|returns|returned|claims?)\b(?: \d+\W*$|.*\b(?:is|are|was|were|isn't|can't|cannot|has|gets?|fails?)\b|"
    r".* (?:instead of|but)\b)|"
    r"(?:i|we|you|users?|people|customers?)(?:'m| am|'re| are)? (?:now |still |also |only )?"
    r"(?:get|got|getting|see|seeing|saw|noticed|hit) |"
    r"(?:[^\s,;:.]+ ){1,4}(?:is|are|was|were) .{1,40} instead of\b|"
    rf"(?!if\b|when\b|unless\b)(?:(?!if\b|when\b|unless\b)[^\s,;:.]+ ){{1,6}}(?:now |still |again )?{_FAULTY}\b|"
    r"es gibt\b|da (?:ist|sind)\b|(?:[^\s,;:.]+ ){1,4}(?:fehlt|fehlen|stürzt ab|(?:geht|funktioniert|läuft) nicht)\b)"
)
"""Says what is so."""
_DEMAND: Final = _cue(
    r"(?:^|[,;:.!–—(-] ?|\b(?:and|so|then|please|but|just|to|better|bitte|also|und) )"
    r"(?:use|set|make|change|keep|put|take|add|remove|rename|replace|raise|lower|limit|cap|drop|move|let's|let us|give|call|write|"
    r"return|skip|ignore|don't|do not|stop|treat|round|try|go|show|want|nimm|mach|setze?|lass|nutze?)\b|"
    r"\b(?:should|must|needs? to|has to|have to|want|better|soll(?:te)?|muss)\b"
)
_INSTEAD: Final = late(
    r"(?:(?:instead|then|and|so|rather|please|bitte|dann|we|let's|let us|lieber)\b,? )*"
    r"(?:lass uns|use|put|keep|take|store|write|go|make|do|move|switch|return|stay|try|set|give|raise|lower|"
    r"nimm|nehmt|nehmen|speicher\w*|leg\w*|setz\w*|mach\w*)\b",
    re.IGNORECASE,
)
_SAID_BY_OTHERS: Final = late(
    r"(?<!\bi )(?<!\bwe )\b(?:says?|said|wrote|writes|claims?|claimed|reads|sagt|schreibt)\b[:,]? ?(?:that )?"
    r"(?:\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|'(?:[^']|(?<=\w)'(?=\w))*')",
    re.IGNORECASE,
)
"""A quotation: what another one settled."""
_SAYING: Final = ("say", "said", "wrote", "write", "claim", "reads", "sagt", "schreibt")
"""Letters of which some stand in every quotation."""
_NOT_SETTLED: Final = _cue(
    r"\b(?:(?:would|could|might|may|should)(?:n't| not)?(?: have|'ve)?|"
    r"(?:if|whether|unless|before|suppose|imagine)(?: only)? (?:we|i|you|they)|"
    r"(?:not|nobody|no one|never|nothing|n't)(?: has| have| was| is| been| yet| really){0,3})"
    r"(?: \w+)? (?:decided|agreed|chosen|chose|opted|picked|settled|gone|go|going|went) (?:to|with|on|for|against)\b"
)
"""What would be settled, or is not."""
_KEPT: Final = late(
    r"(?:^|[,;:.!–—-] ?|\b(?:we|i|we'll|i'll|we're|i'm|will|are|am|let's|let us|then|so|please|rather|better|to|just|and|you can|"
    r"wir|ich|dann) )"
    r"(?:(?:stay|stick)(?:ing)? (?:with|to)|(?:bleib|bleibe|bleiben)(?: wir| ich)?(?: \w+)? bei) "
    r"(?P<what>[^,.;:!?]{2,60}?)"
    r"(?= (?:until|till|because|since|as|for|and|but|when|while|if|instead|rather|bis|weil|und|statt)\b|[,.;:!?]|\Z)"
)
_GIVES_UP: Final = late(
    rf"\b(?:from|leav\w+|{changes.REPLACED}|{changes.ENDED}|{changes.INSTEAD_OF}|{_OVER}|not|{changes.NO_LONGER}|without|von)\b "
    r"(?P<what>[^,.;:!?]{1,60}?)(?= (?:to|by|with|for|because|since|in|durch|zu|auf)\b|[,.;:!?]|\Z)"
)
_CHANGE: Final = late(
    r"\b(?:(?:switch|migrat)\w* (?:\S+ ){0,4}?(?:over )?to|(?:mov|chang)\w* (?:from \S+ )?(?:over )?to|(?:try(?:ing)?|tried)(?! to\b)|"
    r"replac\w+ (?:\S+ ){1,4}?(?:by|with)|(?:wechseln|umsteigen) (?:\S+ ){0,3}?(?:auf|zu)) "
    r"(?P<what>[^,.;:!?]{2,60}?)(?= (?:for|because|since|as|in|on|and|instead|rather|from|weil|und)\b|[,.;:!?]|\Z)"
)
_NEW_MATTER: Final = late(
    r"(?:(?:ok(?:ay)?|good|great|super|nice|fine|right|thanks)\b[,.! ]*)*"
    r"(?:next|now|(?:and )?one (?:thing|more|last)|another|also|and (?:now|then)|commit|weiter|jetzt|noch)\b",
    re.IGNORECASE,
)
_SORRY: Final = late(r"[\s.,;:…]*(?:\b(?:no|oh|ah|sorry|argh|nein)\b[\s.,;:…]*)*\Z", re.IGNORECASE)
_EXPLAINS: Final = late(r"(?:that|it|this)(?:'s| is| was)\b|das ist\b", re.IGNORECASE)
_HYPOTHETICAL: Final = late(
    r"^(?:if|should|could|would|can|shall|do|does|what(?:['\u2019]?s)?|why|how|maybe|perhaps)\b", re.IGNORECASE
)
_SETTLED: Final = _cue(
    r"\b(?:nothing|no (?:further|open|remaining|outstanding|more)|none)\b.{0,40}"
    r"\b(?:remain|left|open|outstanding|follow|steps?|work|issues?|errors?|failures?)",
)
_OPEN_HEADING: Final = late(
    r"^\W*(?:next steps?|remaining(?: (?:work|items|tasks|issues))?|open (?:points|questions|items|issues)|to-?dos?|follow[- ]?ups?|"
    r"left(?: open)?|still (?:open|to do|missing)|what(?:'s| is) (?:left|next|missing)|not (?:yet )?done|outstanding|"
    r"known (?:issues|limitations)|offen)\W*$",
    re.IGNORECASE,
)


_OFFER: Final = late(
    r"(?:is there )?any(?:thing)? else|let me know|how can i|what(?:'s| is) next|"
    r"(?:shall|should|can|may) i (?:proceed|continue|go ahead|go on|start|begin|run|commit|push|apply)|"
    r"(?:do you want|would you like) me to (?:proceed|continue|go ahead|go on|start|begin|run|commit|push|apply)",
    re.IGNORECASE,
)


_CLOSING_CHARS: Final = 600
_BARE: Final = 20
"""Characters of a question that does not say of itself what it asks: "OK?"."""
_SUBJECT_CHARS: Final = 200


def closing_question(reply: str) -> str:
    """Return the question that a reply ends with; an offer to help or to go on is none."""
    if "?" not in reply[-_CLOSING_CHARS:]:
        return ""
    before, last = ["", "", *sentences(reply[-_CLOSING_CHARS:])][-2:]
    if not last.endswith("?") or _OFFER.match(last):
        return ""
    return f"{before} {last}".strip() if len(last) < _BARE and len(before) <= _SUBJECT_CHARS else last


def agrees(prompt: str) -> bool:
    """Return whether a prompt begins by agreeing, and has no second thoughts."""
    return _ASSENT.match(prompt) is not None and not _holds(_SECOND_THOUGHT, prompt)


def refers_to(sentence: str, told: str, reply: str) -> bool:
    """Return whether a sentence is about what was told: by a word, pointing, or brevity."""
    shared = own_words(sentence) & own_words(told)
    if _REFERS.search(sentence) or any(len(word) > 2 for word in shared) or any(taken_keys(sentence)):
        return True
    asks = "?" in reply or _holds(_SUGGESTS, reply) or _holds(_PROPOSAL, reply) or options(reply)
    return len(sentence.split()) <= (_ANSWER_WORDS if asks else _BARE_WORDS)


_ANSWER_WORDS: Final = 8
_BARE_WORDS: Final = 4
"""Words of what answers a question or a suggestion, and of what says nothing of itself."""


def own_words(text: str) -> set[str]:
    """Return the words of a text that say what it is about."""
    return {word for word in _OWN_WORD.findall(text.lower()) if word not in STOP_WORDS and word not in TALK}


def proposals(reply: str) -> Iterator[str]:
    """Yield what a reply proposes, each with the sentence before it, which says of what."""
    before = ""
    for sentence in sentences(reply) if _holds(_PROPOSAL, reply.replace("\u2019", "'")) else ():
        if 20 <= len(sentence) <= 400 and _holds(_PROPOSAL, sentence) and not is_question(sentence):
            yield f"{before} {sentence}" if 0 < len(before) <= _SUBJECT_CHARS else sentence
        before = sentence


def has_second_thought(sentence: str) -> bool:
    """Return whether a sentence takes back what came before it."""
    return _holds(_SECOND_THOUGHT, sentence)


def after_second_thought(sentence: str, following: str = "") -> str:
    """Return what of a sentence stands after "wait" or its like: the rest was taken back.

    Where that only says what was wrong, the sentence that follows has the better word.
    """
    first, *_, rest = [*_TAKEN_BACK.split(sentence), ""][: -1 if _TAKEN_BACK.search(sentence) else None]
    if first == sentence or not rest:
        return sentence
    if _EXPLAINS.match(rest) and following and not following.endswith("?"):
        kept = re.split(r"[,;:]|\.{3}|…", _SORRY.sub("", first))[:-1]
        return f"{', '.join(each.strip() for each in kept)}: {following}" if kept else following
    return rest if len(rest) >= 12 else sentence


def affirmed(text: str) -> str:
    """Return a decision without what it rejects."""
    return _REJECTED.sub(" ", text)


def is_reversal(sentence: str) -> bool:
    """Return whether a person's sentence takes something back."""
    return _holds(_REVERSAL, sentence) and not is_question(sentence)


def says_instead(sentence: str) -> bool:
    """Return whether a sentence after one of reversal says what to do in its place."""
    return _INSTEAD.match(sentence) is not None and len(sentence) <= _SUBJECT_CHARS and not is_rule(sentence)


def kept_words(sentence: str) -> frozenset[str] | None:
    """Return the words of what a person stays with; None where the sentence says nothing of it."""
    lowered = sentence.lower()
    found = _KEPT.search(lowered) if any(word in lowered for word in ("stay", "stick", "bleib")) else None
    return None if found is None or is_question(sentence) else _names(found["what"])


def confirms(kept: frozenset[str], decision: str) -> bool:
    """Return whether who stays with what some words name confirms a decision."""
    return bool(kept & _names(decision.lower())) and not leaves(decision, kept)


def leaves(decision: str, kept: frozenset[str]) -> bool:
    """Return whether a decision leaves what some words name: "from Pillow to libvips"."""
    return any(kept & _names(found["what"]) for found in _GIVES_UP.finditer(decision.lower()))


def changes_to(decision: str) -> frozenset[str]:
    """Return the words of what a decision changes to: "let's try libvips"."""
    return frozenset(word for found in _CHANGE.finditer(decision.lower()) for word in _names(found["what"]))


def _names(text: str) -> frozenset[str]:
    return frozenset(_subjects(re.findall(r"[^\W_]{2,}", text.lower())))


def names_any(text: str, words: frozenset[str]) -> bool:
    """Return whether a text has one of some words."""
    return not words.isdisjoint(_names(text))


def undoes(command: str) -> bool:
    """Return whether a command takes something away: a branch, a commit, a package, a file."""
    return _UNDOING.search(command) is not None


def points_back(sentence: str) -> bool:
    """Return whether a sentence points to what it means: "that library", "the other thing"."""
    return _holds(_POINTS_BACK, sentence)


def decides_otherwise(text: str) -> bool:
    """Return whether an objection goes on to say what holds instead."""
    return _holds(_ANEW, text) and not text.endswith("?")


def options(reply: str) -> dict[str, str]:
    """Return the options that a reply lists, by number or letter; none for fewer than two."""
    if _FIRST_OPTION.search(reply) is None:
        return {}
    found = {match["key"].lower(): " ".join(match["text"].split()) for match in _OPTION.finditer(without_code(reply))}
    return found if len(found) > 1 and {"1", "a"} & {*found} else {}


def named_option(text: str, listed: dict[str, str]) -> str:
    """Return the key of the one option that a short answer names by a word: "duckdb then"."""
    first = re.split(r"[.,;:!]", text)[0]
    if "?" in text or len(first.split()) > _NAMING_WORDS:
        return ""
    words = {word for word in re.findall(r"[^\W_]{4,}", first.lower()) if word not in STOP_WORDS}
    naming = [key for key, option in listed.items() if words & {*re.findall(r"[^\W_]{4,}", option.lower())}]
    return naming[0] if len(naming) == 1 else ""


def alternatives(question: str) -> dict[str, str]:
    """Return the two sides of a person's question: "zenodo or the archive of the institute?"."""
    asked = [each for each in sentences(question) if each.endswith("?")] if "?" in question else []
    sides = re.split(r"\bor\b", asked[-1]) if asked else []
    return {"a": " ".join(sides[0].split()[-_NAMING_WORDS:]), "b": sides[1]} if len(sides) == 2 else {}


def taken_keys(text: str) -> Iterator[str]:
    """Yield the numbers and letters of options that an answer takes."""
    for sentence in sentences(text):
        if not sentence.endswith("?"):
            yield from (match["key"] for match in _TAKEN.finditer(sentence.lower()))


def opens_matter(prompt: str) -> bool:
    """Return whether a prompt turns to something else."""
    return _NEW_MATTER.match(prompt) is not None


_NAMING_WORDS: Final = 6
_INSTRUCTION_CHARS: Final = 240


def instructs(prompt: str, reply: str) -> bool:
    """Return whether a prompt says how to do what a reply found: a decision, where edits follow."""
    if len(prompt) > _INSTRUCTION_CHARS or prompt.endswith("?") or opens_matter(prompt):
        return False
    told = " ".join(_unquoted(each) for each in sentences(prompt) if not reports(each))
    return bool(told) and (_SPECIFIC.search(told) is not None or _holds(_CORRECTS, told) or _holds(_SUGGESTS, reply))


def reports(sentence: str) -> bool:
    """Return whether a sentence says what is so, such as a fault, and not what to do about it."""
    return _holds(_REPORT, sentence) and not _holds(_DEMAND, sentence)


def withdrawn_words(sentence: str) -> set[str]:
    """Return the words of what a person gives up: "let's forget the cache" gives ``cache``."""
    found = _WITHDRAWN.search(sentence.lower()) or _MISTAKEN.search(sentence.lower())
    if found is None or sentence.rstrip().endswith("?"):
        return set()
    words = re.findall(r"\w*\d\w*|[^\W\d_]{4,}", found["what"])
    return {word for word in words if word not in STOP_WORDS}


_FOR_NOW: Final = late(
    r"\b(?:don['\u2019]?t|do not|nothing|not)\b.*\byet\W*$|\bnoch nicht(?:s|\b.*)\W*$", re.IGNORECASE
)
"""An order for the moment, such as "don't change anything yet"."""


def is_user_decision(sentence: str) -> bool:
    """Return whether a person's sentence settles something, for longer than a moment."""
    if " it is" in (lowered := sentence.lower()) and _IT_IS.match(lowered) is not None:
        return True
    return _settles(_USER_DECISION, sentence) and _FOR_NOW.search(sentence) is None


def _settles(cue: Cue, sentence: str) -> bool:
    """Return whether a cue of settling stands in a sentence, and not only in a quotation."""
    if not _holds(cue, sentence) or is_question(sentence) or _holds(_NOT_SETTLED, sentence):
        return False
    own = _unquoted(sentence)
    return own == sentence or _holds(cue, own)


def _unquoted(sentence: str) -> str:
    """Return a sentence without what it says that others said."""
    lowered = sentence.lower()
    return _SAID_BY_OTHERS.sub(" ", sentence) if any(letters in lowered for letters in _SAYING) else sentence


def may_decide(text: str) -> bool:
    """Return False for a reply without a decision: one search, where most have none."""
    return _holds(_AGENT_DECISION, text.replace("\u2019", "'"))


def is_agent_decision(sentence: str) -> bool:
    """Return whether an agent's sentence says what was decided; advice is not, before assent."""
    return _settles(_AGENT_DECISION, sentence) and (
        not _holds(_PROPOSAL, sentence) or _DECIDED.search(sentence) is not None
    )


def is_rule(sentence: str) -> bool:
    """Return whether a person's sentence holds for more than this session."""
    own = _unquoted(sentence)
    if sentence.endswith("?") or is_for_once(sentence):
        return False
    found = _NEVER_TO.search(own.lower())
    return _holds(_RULE, own) or (found is not None and own[found.start("verb")].islower())


def is_for_once(sentence: str) -> bool:
    """Return whether a sentence holds for one occasion: "for this run use staging"."""
    return _holds(_FOR_ONCE, sentence) and not _holds(_LASTING, sentence)


def is_cause(sentence: str) -> bool:
    """Return whether a sentence says why something was so."""
    return _holds(_CAUSE, sentence) and not sentence.endswith("?")


def is_put_off(sentence: str) -> bool:
    """Return whether a person's sentence leaves something for later."""
    return (_holds(_LATER, sentence) or _MARKED.search(sentence) is not None) and not is_question(sentence)


def names_open_point(reply: str) -> bool:
    """Return whether a reply says under a heading or a mark of its own what is left open."""
    return any(True for _ in open_points(reply, headed=True))


def is_open_heading(line: str) -> bool:
    """Return whether a line heads a list of what is left open."""
    bare = _MARKS.sub("", line).strip().replace("\u2019", "'")
    return _OPEN_HEADING.match(bare.lstrip("#").rstrip(":")) is not None


def open_points(text: str, *, headed: bool = False) -> Iterator[str]:
    """Yield what a reply leaves open; ``headed`` gives only what it plainly says is open."""
    below = False
    for line in without_code(text).splitlines():
        bare = _MARKS.sub("", line).strip().replace("\u2019", "'")
        if is_open_heading(line):
            below = True
            continue
        if not bare or line.lstrip().startswith("#"):
            below = below and not bare
            continue
        is_item = _BULLET.match(line) is not None
        point = ""
        for sentence in sentences(line):
            mark = _OPEN_MARK.match(sentence)
            says_so = (
                (mark is not None and not mark["next"])
                or _holds(_STILL_OPEN, sentence)
                or (not headed and (_holds(_OPEN, sentence) or _MARKED.search(sentence) is not None))
            )
            is_none = mark is not None and _NOTHING.fullmatch(sentence, mark.end()) is not None
            if not is_none and not _holds(_SETTLED, sentence) and (says_so or (below and is_item)):
                yield from (point,) if point else ()
                point = sentence
            elif point and _holds(_BY_WHEN, sentence):
                point = f"{point} {sentence}"
        yield from (point,) if point else ()
        below = below and is_item


_OPEN_MARK: Final = late(
    rf"(?:^[\"“]?|(?<=[.!?] ))(?:{_MARK_WORDS}|(?P<next>next(?: steps?)?))(?:\s*:|\s+[–—-](?=\s)|(?<=noch)(?=, dass\b))\s*",
    re.IGNORECASE,
)


_NOTHING: Final = late(r"(?:nothing|none|no|nichts|nix|keine?s?|n/a|-|–)\W*", re.IGNORECASE)


def marks_open(sentence: str) -> bool:
    """Return whether a person's sentence names what is open, and says so first."""
    return _OPEN_MARK.search(sentence) is not None and not is_question(sentence)


def is_aside(prompt: str) -> bool:
    """Return whether a prompt only tells something by the way."""
    told = _BY_THE_WAY.sub("", prompt).strip(" ,:.")
    return told != prompt.strip(" ,:.") and "?" not in told and not _holds(_DEMAND, told) and not _holds(_REPORT, told)


def stands_alone(text: str) -> bool:
    """Return whether a text says without what stands before it what it is about."""
    return _POINTS_BACK.search(text.lower()) is None


_BY_THE_WAY: Final = late(r"\b(?:btw|by the way|fyi|for your information|übrigens|nebenbei|zur info)\b", re.IGNORECASE)


def without_open_mark(point: str) -> str:
    """Return an open point without its mark, what stands before that, and its status."""
    marks = [*_OPEN_MARK.finditer(point)]
    return re.sub(r" \((?:pending|in progress)\)\Z", "", point[marks[0].end() :] if marks else point)


_TOLD_ELSEWHERE: Final = late(
    r"analysis|all user messages|primary request|files|key technical|current work|next step|user messages|remaining|pending",
    re.IGNORECASE,
)
_HEADING: Final = late(r"\s*(?:#+\s*|\d+[.)]\s+|\*\*)(?P<name>[A-Z][\w ,/&'-]{2,60}?):?(?:\*\*)?:?\s*")
_CONTINUED: Final = late(r"(?:this session is being continued|the (?:conversation|summary) )", re.IGNORECASE)
_SUMMARY_TAG: Final = late(r"<analysis>.*?</analysis>|</?summary>", re.DOTALL)


def summary_points(summary: str) -> Iterator[str]:
    """Yield the points of an agent's summary, but for what a handoff has places of its own for."""
    skips = False
    lines = without_code(_SUMMARY_TAG.sub("", summary)).splitlines()
    is_prose = not any(_BULLET.match(line) for line in lines)
    for line in lines:
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            skips = _TOLD_ELSEWHERE.match(heading["name"]) is not None
        elif not skips and (is_prose or _BULLET.match(line) is not None):
            bare = without_emphasis(_BULLET.sub("", line)).strip()
            for point in sentences(bare) if is_prose else [bare]:
                if len(point) >= 20 and not _CONTINUED.match(point):
                    yield point


def is_question(sentence: str) -> bool:
    """Return whether a sentence asks, or supposes something."""
    return sentence.rstrip("\"')").endswith("?") or _HYPOTHETICAL.match(sentence) is not None
