"""Changes: words that say that something is not as it was, English and German.

Each name holds alternatives of a regular expression for one kind of change. Who uses them sets them between borders of words, in
either case, and asks a question of its own: what is given up, which value ends, whether there is a change at all. A word belongs here
if every room may take it for a change; what it is said of, the rooms find out. A verb in two parts is its first part, with the
second one looked ahead for: what "hand the keys over" is about are the keys. All take linear time.
"""

from __future__ import annotations

from typing import Final

_UP_TO: Final = r"(?: [^\s,;:]{1,40}){0,6}?"

MOVED: Final = (
    r"mov(?:e[sd]?|ing)|migrat(?:e[sd]?|ing)|relocat(?:e[sd]?|ing)|transferr(?:ed|ing)|postpon(?:e[sd]?|ing)|reschedul(?:e[sd]?|ing)|"
    r"delay(?:s|ed|ing)?|shift(?:s|ed|ing)?(?! (?:keys?|workers?)\b)|"
    rf"(?:push(?:es|ed)?|put|pull(?:s|ed)?|brings?|brought)(?={_UP_TO} (?:back|off|forward)\b)|"
    r"(?:vor)?verleg(?:t|te|ten|en)|verlager(?:t|te|ten|n)|verschieb\w*|verschob\w*|vorgezogen|umgezogen|umziehen|umzug|"
    rf"z(?:ieh|og)\w*(?={_UP_TO} um\b)"
)
"""To another place or time."""
ADJUSTED: Final = (
    r"chang(?:e[sd]?|ing)|rais(?:e[sd]?|ing)|lower(?:s|ed|ing|(?= (?:the|our|it)\b))|increas(?:e[sd]?|ing)|reduc(?:e[sd]?|ing)|"
    r"extend(?:s|ed|ing)?|shorten(?:s|ed|ing)?|bump(?:s|ed|ing)?|doubled|halved|cut (?:from|to|down|by)|"
    r"(?:ge)?änder(?:t|te|ten|n)|erhöh(?:t|te|ten|en)|(?:ge)?senk(?:t|te|ten|en)|verlänger(?:t|te|ten|n)|verkürz(?:t|te|ten|en)|"
    r"angehoben|angepasst|(?:herauf|herab|hoch|runter)gesetzt"
)
"""To another value."""
REPLACED: Final = (
    r"replac(?:e[sd]?|ing)|supersed(?:e[sd]?|ing)|swap(?:s|ped|ping)?|substitut(?:e[sd]?|ing)|succeed(?:s|ed)(?= (?-i:[A-ZÄÖÜ]))|"
    rf"ersetz(?:t|te|ten|en)|abgelöst|ablösen|löst(?:e|en)?(?={_UP_TO} ab\b)"
)
"""By something else: what is replaced is the old one."""
SWITCHED: Final = (
    r"switch(?:es|ed|ing)?(?! (?:on|off)\b)|"
    r"(?:ge)?wechsel(?:t|te|ten|n)|wechsle|umgestellt|umstell(?:t|te|ten|en)|umgestiegen|umsteigen"
)
"""From what somebody uses to something else."""
TAKEN_OVER: Final = r"(?:takes?|took|taken|taking) over|inherit(?:s|ed)|übernimmt|übernahm\w*|übernommen|übernehmen"
"""By somebody else: who takes it over is the new one."""
HANDED_OVER: Final = rf"hand(?:s|ed|ing)?(?={_UP_TO} over\b)|übergibt|übergab\w*|übergeben"
NOW: Final = r"now|meanwhile|these days|nowadays|jetzt|nun|inzwischen|mittlerweile|neuerdings"
"""Beside what is so, and was not."""
NOW_CALLED: Final = rf"(?:is|are) now called|heiß(?:t|en) (?:{NOW})"
RENAMED: Final = rf"renam(?:e[sd]?|ing)|rebrand(?:s|ed|ing)?|umbenannt|umbenennen|{NOW_CALLED}"
LAPSES: Final = r"(?:is|are) gone|expire[sd]?|fällt (?:aus|weg)|entfällt"
"""Behind what is over."""
PARTICIPLES: Final = (
    r"ersetzt|abgelöst|abgeschafft|abgeschaltet|abgekündigt|gekündigt|abgesagt|verabschiedet|gestrichen|entfernt|stillgelegt|"
    r"aufgegeben|ausgemustert|weggefallen"
)
"""Behind what is over, in German."""
ENDED: Final = (
    r"cancel(?:s|l?ed|l?ing)?|call(?:s|ed|ing)? off|drop(?:s|ped|ping)?|retir(?:e[sd]?|ing)|abandon(?:s|ed|ing)?|scrap(?:s|ped|ping)?|"
    r"ditch(?:es|ed|ing)?|(?:gets?|got|getting) rid of|(?:gives?|gave|given|giving) up|decommission(?:s|ed|ing)?|"
    r"discontinu(?:e[sd]?|ing)|remov(?:e[sd]?|ing)|abolish(?:es|ed|ing)?|phas(?:e[sd]?|ing) out|sunset(?:ted|ting)|"
    r"shut(?:s|ting)? down|(?:turn|switch)(?:s|es|ed|ing)? off|stop(?:s|ped|ping)? using|obsolete|deprecate[sd]?|gone|"
    rf"abschaffen|abschalten|kündigen|absagen|verabschieden|{PARTICIPLES}|{LAPSES}"
)
"""It is over, whatever comes after it."""
REVERTED: Final = (
    r"revert(?:s|ed|ing)?|roll(?:s|ed|ing)? back|undo|undid|undone|(?:go|goes|going|went|gone) back|(?:takes?|took|taken) back|after all|"
    r"rückgängig|zurückgenommen|zurückgezogen|doch (?:nicht|kein\w*|wieder|lieber)"
)
"""As it was before."""
NO_LONGER: Final = r"no (?:longer|more)(?! than)|nicht (?:mehr|länger)(?! als)"
"""Before what it denies."""
ANY_MORE: Final = r"any ?(?:more|longer)(?! than)|keine?[nmrs]? mehr(?! als)"
"""Behind what it denies."""
INSTEAD_OF: Final = r"instead of|rather than|in place of|in lieu of|(?:an)?statt|an ?stelle(?: (?:von|de[rs]))?"
"""Before the old one."""
FORMERLY: Final = r"formerly|previously|used to be|früher|ehemals|vormals|zuvor|bislang|bisher"
"""Beside the old one."""
FROM_NOW_ON: Final = (
    r"from \w{1,20} on(?:wards?)?|as of \w{1,20}|effective|"
    r"ab (?:sofort|jetzt|dem|nächste[mnrs]?|\d+|jan|feb|mär|apr|mai|jun|jul|aug|sep|okt|nov|dez)\w*|künftig|fortan"
)
"""Beside the new one."""
CHANGING: Final = f"{MOVED}|{ADJUSTED}|{REPLACED}|{SWITCHED}|{RENAMED}"
"""Verbs of what is afterwards, in another way."""
DENIED: Final = (
    rf"(?:not|never|nobody|\w{{1,8}}n['’]t|nicht|nie|niemand)(?: (?:yet|be|been|to|going|wants?|wanted)){{0,3}} "
    rf"(?:{CHANGING}|{TAKEN_OVER}|{ENDED}|{REVERTED})"
)
"""No change, said with the words of one."""
ANY: Final = (
    f"{CHANGING}|{TAKEN_OVER}|{HANDED_OVER}|{ENDED}|{REVERTED}|{NO_LONGER}|{ANY_MORE}|{INSTEAD_OF}|instead|stattdessen|{FORMERLY}|"
    f"{FROM_NOW_ON}"
)
"""Whatever says that something is not as it was."""
