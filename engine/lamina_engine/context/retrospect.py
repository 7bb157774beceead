"""Retrospect: questions about the work itself.

They ask what was done in a time, what is open, and where it was left off. They name nothing, and consist of words for talk and for
work, so that no memory matches them; yet they are what a person asks first. Each is told by all of its words, as "which file is
open?" asks for something else.

Nothing heavy is imported: a hook asks this before it loads anything else.
"""

from __future__ import annotations

import re

from lamina_engine.context.content import asks, words_of
from lamina_engine.expressions import late

_MOST_CHARS = 200
"""A question about the work is short; what is longer is about something."""


_ASKING = (
    words_of(
        """
        what whats which else s is are was were there the still yet any anything something things thing points point items item issues issue
        questions question tasks task work stuff left open outstanding pending remaining remains remain unfinished unresolved undone
        unanswered incomplete todo todos to do be done finish we i have had has need needs for us me my our tell show list give of on in
        project here from last session sessions leave all everything please can you and so ok now currently loose ends
        """
    ),
    words_of(
        """
        was ist sind wäre noch offen offene offenen offenes punkte dinge aufgaben themen fragen sachen es gibt gab steht stehen aus an
        fehlt fehlen zu tun machen erledigen bleibt bleiben übrig haben hab wir ich welche welches welcher zeig zeige mir nenne liste
        die der den uns unserer alles unerledigt unerledigte unerledigten müssen muss liegt liegen geblieben ausstehend ausstehende todo
        todos denn eigentlich jetzt im projekt aktuell derzeit von vom letzten mal bitte und ok so
        """
    ),
)
_OPEN = late(
    r"\b(?:open|outstanding|pending|remain(?:s|ing)?|unfinished|unresolved|undone|unanswered|incomplete|todos?|loose ends"
    r"|(?:what|whats|anything|s|is|still).* left|still .*\bto (?:do|be done)|offen\w*|unerledigt\w*|ausstehend\w*|übrig|liegen geblieben"
    r"|(?:steht|stehen) (?:\w+ )*(?:aus|an)|noch (?:\w+ )*(?:tun|machen|erledigen)|(?:fehlt|fehlen) (?:\w+ )*noch)\b"
)
_ORDERS = late(r"(?:(?:please|can you|bitte) )?(?:list|show|tell|give|any|zeige?|nenne|liste)\b")
_LEFT_OFF = late(
    r"\bwhere (?:we|i) (?:left|stopped|ended|broke)(?: it)?\b"
    r"|^(?:so |ok |and |wait )*where (?:did|had|have|were|was) (?:we|i)"
    r"(?: (?:leave|left|stop|stopped|end|ended|finish|get|got|break|it|at|up|off|to|last|time|again|before|with|the|project"
    r"|session))*$"
    r"|^(?:so |ok |and )*what (?:were|was|have|had) (?:we|i) (?:been |last )*"
    r"(?:working on|doing|up to)(?: last| before| here| again| time)*$"
    r"|^what did (?:we|i) (?:last (?:do|work on)|(?:do|work on) (?:last|before)(?: time)?|(?:do|work on) in the (?:last|previous) session)$"
    r"|^what (?:happened|was done) in (?:the|our|my) (?:last|previous) session$|^where do we stand$"
    r"|^(?:und |also |so )*wo (?:waren|war|sind|bin|haben|habe|hatten|hatte) (?:wir|ich)"
    r"(?: (?:denn|noch|nochmal|zuletzt|gerade|eigentlich|letztes|beim|letzten|mal|stehen|geblieben|stehengeblieben|aufgehört"
    r"|dran))*$"
    r"|^wor?an (?:haben|habe|waren|war|hatten) (?:wir|ich) (?:zuletzt|gerade|letztes mal|beim letzten mal)(?: gearbeitet| dran)?$"
    r"|^was (?:haben|habe|hatten) (?:wir|ich) (?:zuletzt|letztes mal|beim letzten mal|in der letzten sitzung) (?:gemacht|getan)$"
    r"|^(?:was (?:ist|war)|wie ist) der (?:letzte |aktuelle )?stand$"
)
_DOING = late(
    r"\b(?:did|done|do|doing|happen\w*|work\w*|chang\w*|decid\w*|discuss\w*|learn\w*|finish\w*|new|update[sd]?|wrote|going on|complet\w+"
    r"|achieved?|accomplish\w*|gemacht|getan|passiert|geschehen|gearbeitet|gelernt|besprochen|beschlossen|entschieden|geändert|neues?"
    r"|los|erledigt|geschafft|geschrieben|fait|passé|changé|travaillé|décidé|hicimos|hice|hecho|pasó|trabajamos|decidimos|fatto|successo"
    r"|lavorato|deciso|fizemos|fiz|aconteceu|trabalhamos|gedaan|gebeurd|gewerkt|besloten)\b",
    re.IGNORECASE,
)
_REASON = late(r"\b(?:why|how|where|when|warum|wieso|weshalb|wie|wo|wann)\b", re.IGNORECASE)
_DECIDING = late(r"\b(?:deci\w+|beschl\w+|entsch\w+|décid\w+|deciso|besl[ou]\w+)\b", re.IGNORECASE)


def looks_back(prompt: str) -> bool:
    """Return True if a prompt asks about the work itself, or may.

    Whether it asks of a time is known with a clock.
    """
    return asks_for_open(prompt) or asks_for_last(prompt) or may_ask_for_time(prompt)


def asks_for_open(prompt: str) -> bool:
    """Return True if a prompt asks for what is left to do, and for nothing else."""
    plain = re.sub(r"\b(?:this|diesem) (?=proje[ck]t\b)", "", _plain(prompt))
    words = set(plain.split())
    if not any(words <= known for known in _ASKING) or _OPEN.search(plain) is None:
        return False
    return asks(prompt) or _ORDERS.match(plain) is not None


def asks_for_last(prompt: str) -> bool:
    """Return True if a prompt asks where the work was left off."""
    return _LEFT_OFF.search(_plain(prompt)) is not None


def may_ask_for_time(prompt: str) -> bool:
    """Return True if a prompt asks for something done, and may say when."""
    if (
        len(prompt) > _MOST_CHARS
        or not asks(prompt)
        or _DOING.search(prompt) is None
        or _REASON.search(prompt) is not None
    ):
        return False
    from lamina_engine.time.lexicon import may_mention_time  # few prompts come so far

    return may_mention_time(prompt)


def asks_for_decisions(prompt: str) -> bool:
    """Return True if a question of a time is one of what was decided in it."""
    return _DECIDING.search(prompt) is not None


def _plain(prompt: str) -> str:
    """Return the words of a short prompt in lower case; of a long one none."""
    return " ".join(re.findall(r"[^\W_]+", prompt.lower())) if len(prompt) <= _MOST_CHARS else ""
