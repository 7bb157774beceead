"""Courtesy around a question: greetings, requests to tell, and thanks.

They stand at either end, in words that people use to a person; what is left is the question. Nothing is taken from the
middle, and nothing where no word of content would be left.
"""

from __future__ import annotations

import re
from typing import Final

from lamina_engine.expressions import late
from lamina_engine.index.analysis import STOP_WORDS

_LONGEST: Final = 120
"""Characters that thanks may take."""
_GREETING: Final = r"""
    (?:hi|hello|hey|hiya|howdy|greetings|good\ (?:morning|afternoon|evening|day)
      |hallo|guten\ (?:morgen|tag|abend)|bonjour|bonsoir|salut|hola|buen[oa]s\ (?:d[ií]as|tardes|noches)|ciao|buongiorno
      |ol[áa]|oi|hoi|goedemorgen)
    (?:\ (?:there|all|everyone|everybody|team|again|folks|guys|assistant|zusammen))*"""
_ADVERB: Final = (
    r"(?:\ (?:please|pls|kindly|maybe|perhaps|possibly|just|quickly|also|briefly|by\ any\ chance|happen\ to))*"
)
_TELL: Final = r"""(?:(?:tell|telling|remind|reminding|inform|show|showing)\ me(?:\ again)?
    |let\ me\ know|letting\ me\ know|help\ me\ (?:find|remember|recall|understand)(?:\ out)?
    |help\ me\ (?:figure|work)\ out|know|remember|recall|say)"""
_REQUEST: Final = rf"""
    (?:(?:can|could|would|will)\ you{_ADVERB}(?:\ (?:be\ so\ kind\ as\ to|mind))?(?:\ {_TELL})?
      |do\ you{_ADVERB}\ (?:know|remember|recall)
      |any\ (?:idea|chance\ you\ (?:can|could|know|remember)(?:\ {_TELL})?)
      |(?:i|we)(?:'?d|\ would)?{_ADVERB}\ (?:like|love|want|need|wanted|wish)\ to\ (?:know|ask|hear|find\ out|understand)(?:\ you)?
      |i(?:'?m|\ am|\ was|'ve\ been|\ have\ been){_ADVERB}\ (?:wondering|curious)
      |(?:just|only)\ (?:wondering|curious)|(?:may|can|could)\ i{_ADVERB}\ ask(?:\ you)?
      |(?:i\ have\ )?(?:a\ |one\ )?quick\ question(?:\ for\ you)?|excuse\ me|sorry\ to\ (?:bother|disturb)\ you(?:\ but)?
      |(?:please|pls|kindly){_ADVERB}(?:\ {_TELL})?|tell\ me|remind\ me|let\ me\ know
      |(?:kannst|könntest|können|könnten)\ (?:du|sie)(?:\ (?:mir|uns|bitte|mal|vielleicht))*(?:\ (?:sagen|verraten|erklären|zeigen))?
      |wei(?:ß|ss)t\ du(?:\ (?:noch|vielleicht))*|wissen\ sie(?:\ (?:noch|vielleicht))*|sag\ mir(?:\ bitte)?|bitte
      |(?:peux|pourrais)(?:-|\ )tu(?:\ me\ (?:dire|rappeler|montrer|expliquer))?
      |(?:pouvez|pourriez)(?:-|\ )vous(?:\ me\ (?:dire|rappeler|montrer|expliquer))?
      |sais-tu|savez-vous|est-ce\ que\ tu\ (?:sais|peux\ me\ dire)|dis-moi|s['’]il\ (?:te|vous)\ pla[iî]t
      |(?:me\ )?(?:puedes|puede|podrías|podría)(?:\ (?:decirme|decir|recordarme|mostrarme|explicarme))?|sabes|dime|por\ favor
      |(?:mi\ )?(?:puoi|potresti|può)(?:\ (?:dirmi|dire|ricordarmi|mostrarmi|spiegarmi))?|sai|dimmi|per\ favore
      |(?:você\ )?(?:pode|poderia|podes)(?:\ (?:me\ )?(?:dizer-me|dizer|lembrar|mostrar|explicar))?
      |(?:kun|kunt|kan)\ (?:je|u)(?:\ (?:me|mij|alsjeblieft|alstublieft))*(?:\ (?:vertellen|zeggen|uitleggen))?|alsjeblieft|alstublieft)
    (?:\ (?:if\ you\ (?:know|could\ tell\ me|can\ tell\ me|remember)))?"""
_ASKS: Final = r"(?:can|could|would|will|do|please|pls|i|i'd|tell|kannst|könntest|bitte|peux|pourr|pouvez|puede|podr|puoi|potresti|pode)"
_BEFORE: Final = late(
    rf"¿?(?:{_GREETING}(?=\s*[,.!:;…–—-]|\ {_ASKS})|{_REQUEST}(?![\w'-]))[\s,.!:;…–—-]*", re.IGNORECASE | re.VERBOSE
)
_MUCH: Final = r"(?:\ (?:a\ lot|a\ bunch|a\ million|so\ much|very\ much|much|again|in\ advance|for\ (?:your|the|any)\ help|everyone|all))"
_THANKS: Final = rf"""
    (?:(?:many\ |thousand\ )?(?:thanks|thank\ you|thx|ty|cheers){_MUCH}*|(?:much|greatly)\ appreciated
      |i(?:'d|\ would)?\ (?:really\ )?appreciate\ it
      |please|pls|if\ you\ (?:can|could|know|remember|don'?t\ mind)|when\ you\ (?:have|get)\ a\ (?:moment|minute|chance|second)
      |that\ (?:would|'d)\ be\ (?:great|helpful|lovely|nice)|bitte|danke(?:\ (?:schön|sehr|dir|ihnen|im\ voraus))*
      |vielen\ dank(?:\ im\ voraus)?
      |s['’]il\ (?:te|vous)\ pla[iî]t|merci(?:\ (?:beaucoup|bien|d['’]avance))*|por\ favor|(?:muchas\ |mil\ )?gracias|per\ favore
      |grazie(?:\ mille)?|(?:muito\ )?obrigad[oa]|alsjeblieft|alstublieft|(?:hartelijk\ )?(?:bedankt|dank\ je(?:\ wel)?))"""
_AFTER: Final = late(
    rf"""
    (?:[.,;:!?…–—\n-][\s,.;:!?…–—-]*{_THANKS}
      |\ (?:(?:many\ )?(?:thanks|thank\ you|thx){_MUCH}+|many\ thanks|vielen\ dank|merci\ beaucoup|muchas\ gracias))
    [\s,.!?:;)(…–—-]*\Z""",
    re.IGNORECASE | re.VERBOSE,
)


def strip_courtesy(text: str) -> str:
    """Return a question without greetings, requests to tell and thanks; else as it is.

    Examples
    --------
    >>> strip_courtesy("Hi! Could you please tell me where the backups are? Thanks a lot!")
    'where the backups are?'
    >>> strip_courtesy("hello world example")
    'hello world example'
    """
    found = " ".join(text.split())
    at = 0
    while match := _BEFORE.match(found, at):
        at = match.end()
    end = len(found)
    while match := _AFTER.search(found, max(at, end - _LONGEST), end):
        end = match.start() + (found[match.start()] in ".?!")
    if (at, end) == (0, len(found)) or not _has_content(found[at:end]):
        return text
    return found[at:end]


def _has_content(text: str) -> bool:
    words = [word.replace("'", "") for word in re.findall(r"[\w']+", text.lower())]
    return any(word not in STOP_WORDS for word in words)
