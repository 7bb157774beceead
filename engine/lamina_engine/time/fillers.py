"""Words that name no topic: beside a time they leave nothing, or what was written about.

Function words, and verbs of doing, writing and happening, in the languages of the lexicon. Words that mean something
else in English ("war", "die") are left out, since a question may mix languages.
"""

from __future__ import annotations

import re
from typing import Final

from lamina_engine.time.lexicon import fold

_WORDS: Final = {
    "en": """
        a about all an and any anything are as at be been by d did do does doing done for from get got had happen happened
        happening happens has have he her his i in is it its just list ll m me more my new of on our over re s she show
        so some something t that the their them then there these they this those to us ve was we were what when which who
        with you your add added change changed changes decide decided discuss discussed learn learned learnt log logged
        notice noticed note noted notes entries entry memories memory news record recorded said save saved say see start
        started stuff talk talked tell thing things told update updated updates work worked working write writing written
        wrote activity everything finish finished going up accomplish accomplished achieve achieved complete completed been
    """,
    "de": """
        ich wir du ihr er sie es mir uns mich was wer wie wo welche welcher welches alles etwas neues neu habe haben hab
        hat hatte hatten hast gab gibt ist sind passiert geschehen geschrieben schrieb notiert gemacht getan gearbeitet
        gelernt besprochen beschlossen entschieden geändert änderte zeig zeige mir mal denn so los notizen einträge
        aufgeschrieben gesagt wurde wurden worden erledigt geschafft und von vom im in am aus an
        zu der das den dem woran worüber über zum zur
    """,
    "fr": """
        je j tu il elle nous on vous qu que quoi quel quelle quels quelles est ce c qui ai as a avons avez ont fait faire
        écrit noté dit passé changé appris travaillé décidé discuté s y l le la les de des du d tout nouveau notes quoi
        montre moi sur mes nos à propos
    """,
    "es": """
        yo qué que cuáles cual cuál he has ha hemos han hice hizo hicimos hicieron escribí escribimos escrito anoté pasó
        cambió cambiado aprendí trabajé trabajamos decidimos hablamos lo el la los las de del en me nos todo nuevo notas
        muestra hecho dije dijimos ocurrió sobre mis anotado aprendido decidido
    """,
    "it": """
        io noi che cosa cos quali ho hai ha abbiamo hanno fatto scritto annotato detto successo cambiato imparato lavorato
        deciso è e ci il lo la le i di del della tutto nuovo note mostra mi su sul sulla mie
    """,
    "pt": """
        eu nós o que quê quais fiz fez fizemos fizeram escrevi escrevemos escrito anotei aconteceu mudou aprendi trabalhei
        decidimos foi disse a os as de do da em no na tudo novo notas mostre me sobre minhas
    """,
    "nl": """
        ik wij we jij wat welke heb hebben heeft had gedaan geschreven genoteerd gezegd gebeurd gebeurde veranderd geleerd
        gewerkt besloten is er de het een van alles nieuw notities toon mij aan deed schreef over mijn
    """,
    "ru": """
        я мы ты что чего кто какие был была было были делал делала делали сделал сделала сделали писал писала писали
        написал написала написали записал записала случилось произошло изменилось решили работал работала над и в на с
        новое новые все всё заметки покажи мне
    """,
    "pl": """
        ja my co kto jakie robiłem robiłam robiliśmy zrobiłem zrobiłam zrobiliśmy pisałem pisałam napisałem napisałam
        napisaliśmy zapisałem zapisałam stało się wydarzyło zmieniło zmieniłem nad pracowałem pracowałam zdecydowaliśmy w z
        i było wszystko nowe notatki pokaż mi
    """,
    "sv": """
        jag vi du vad vilka har hade gjorde gjort skrev skrivit antecknade hände hänt ändrades ändrade lärde arbetade
        bestämde sa det som på av allt nytt anteckningar visa mig och i
    """,
    "tr": """
        ben biz ne neler hangi yaptım yaptık yapmıştım yazdım yazdık yazmıştım not aldım oldu değişti öğrendim çalıştım
        karar verdik ile ve her şey yeni notlar göster bana
    """,
}
_CJK: Final = re.compile(
    r"(?:我们|我|你|做|干|写|寫|过|過|了|什么|什麼|哪些|哪|的|发生|發生|有|记录|記錄|记|記|在|是|说|說|聊|事情|事|吗|嗎|呢|变|變|改|学|學|都"
    r"|私|僕|何|なに|なん|を|が|は|の|に|で|と|し|た|ました|ます|書|い|か|き|あっ|あり|起き|起こ|こと|変わ|っ|りました|やっ|やり|て|学ん|だ|メモ"
    r"|뭐|무엇|무슨|일|을|를|이|가|은|는|에|나는|내가|우리|했|하|었|있|썼|쓴|적|것|거|나|지|어|요|습니까|니|변경|바뀐|배운|일했|들|도|의)*"
)  # fmt: skip
_WORD: Final = re.compile(r"\w+")

_NOTES: Final = """
    notes entries memories notizen einträge notas notities
    escribí escribimos anoté aprendí decidimos escrevi escrevemos anotei aprendi
"""
"""Of these the words for what is made on the day of which a question speaks; verbs with their person in them."""
_WRITING: Final = """
    write writing written wrote note noted learn learned learnt log logged record recorded save saved decide decided discuss
    discussed geschrieben schrieb notiert aufgeschrieben gelernt besprochen beschlossen entschieden écrit noté appris décidé
    discuté escrito anotado aprendido scritto annotato imparato deciso geschreven schreef genoteerd geleerd besloten
"""
"""The same of verbs, beside a writer."""
_WRITERS: Final = "i we my our ich wir je j nous on yo he hemos io noi ho abbiamo eu nós ik wij"

_FOLDED: Final = tuple(frozenset(fold(words).split()) for words in _WORDS.values())
_MADE: Final = frozenset(fold(_NOTES).split())
_MAKING: Final = frozenset(fold(_WRITING).split())
_MAKERS: Final = frozenset(fold(_WRITERS).split())


def names_no_topic(text: str) -> bool:
    """Return True where all words are of one language and name no topic, or there are none."""
    words = _WORD.findall(fold(text))
    if any(known.issuperset(words) for known in _FOLDED):
        return True
    whole = "".join(_WORD.findall(text))
    return not whole.isascii() and _CJK.fullmatch(whole) is not None


def written_topic(text: str) -> str | None:
    """Return the topic of a question for what somebody wrote at a time; None for others.

    The text is the question without its time.

    Examples
    --------
    >>> written_topic("what did I write about connection pools?")
    'connection pools'
    >>> written_topic("what did Anna write about connection pools?") is None
    True
    """
    words = [(fold(match.group()), *match.span()) for match in _WORD.finditer(text)]
    for known in _FOLDED:
        topic = [place for place, (word, _, _) in enumerate(words) if word not in known]
        if not topic:
            return None
        first, last = topic[0], topic[-1]
        around = {word for word, _, _ in (*words[:first], *words[last + 1 :])}
        if around & _MADE or (around & _MAKING and around & _MAKERS):
            return text[words[first][1] : words[last][2]]
    return None
