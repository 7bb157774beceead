"""Lexicon of time words in eleven languages: the senses of each word, and its languages.

A language's table maps a category to its words. ``a/b`` are spellings of one thing, ``_`` joins the words of one expression,
and case and accents do not count. Where a category has an order (months, weekdays), the place is the value.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable
from typing import Final, NamedTuple

LANGUAGES: Final = ("en", "de", "fr", "es", "it", "pt", "nl", "ru", "pl", "sv", "tr")
ALL_LANGUAGES: Final = (1 << len(LANGUAGES)) - 1

_ORDERED: Final = {
    "month": tuple(range(1, 13)),
    "abbreviation": tuple(range(1, 13)),
    "weekday": tuple(range(7)),
    "weekday_short": tuple(range(7)),
    "season": ("spring", "summer", "autumn", "winter"),
    "unit": ("second", "minute", "hour", "day", "week", "fortnight", "month", "quarter", "half", "year", "decade", "weekend"),
    "part": ("early", "mid", "late", "so_far"),
    "ordinal": (1, 2, 3, 4, -1),
    "number": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
    "vague": ("couple", "few"),
    "relative": (-2, -1, 0, 1, 2),
    "daypart": ("morning", "afternoon", "evening", "night"),
}  # fmt: skip
"""Categories with their words in the order of their values (``-`` where a language has none)."""

WORDS: Final[dict[str, dict[str, str]]] = {
    "en": {
        "month": "january february march april may june july august september october november december",
        "abbreviation": "jan feb mar apr - jun jul aug sep/sept oct nov dec",
        "weekday": "monday tuesday wednesday thursday friday saturday sunday",
        "weekday_short": "mon tue/tues wed thu/thur/thurs fri sat sun",
        "season": "spring/springtime summer/summertime autumn/fall winter/wintertime",
        "unit": "second/seconds/sec/secs minute/minutes/min/mins hour/hours/hr/hrs/h day/days/d "
        "week/weeks/wk/wks/w fortnight/fortnights month/months/mon/mo/mos/mth/mths quarter/quarters/qtr "
        "half year/years/yr/yrs/y decade/decades weekend/weekends",
        "part": "early/beginning/start mid/middle late/end earlier",
        "ordinal": "first second third fourth last/final",
        "number": "one/a/an/1 two three four five six seven eight nine ten eleven twelve",
        "vague": "couple/a_couple/couple_of/a_couple_of few/a_few/several/some",
        "relative": "day_before_yesterday yesterday/yday today tomorrow/tmrw day_after_tomorrow",
        "daypart": "morning afternoon evening/tonight night", "last": "last previous preceding",
        "rolling": "past trailing", "this": "this current ongoing", "next": "next coming upcoming",
        "before_last": "before_last", "ago": "ago back earlier", "in": "in during within over throughout",
        "on": "on at around about for", "since": "since ever_since starting starting_from",
        "until": "until till up_to through by", "before": "before prior_to", "after": "after following",
        "from": "from", "between": "between", "and": "and", "to": "to until till through thru", "of": "of in",
        "the": "the", "yearword": "year", "every": "every each",
    },
    "de": {
        "month": "januar/jänner februar märz/maerz april mai juni juli august september oktober november dezember",
        "weekday": "montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag",
        "season": "frühling/frühjahr sommer herbst winter",
        "unit": "sekunde/sekunden minute/minuten stunde/stunden tag/tage/tagen/tages woche/wochen - "
        "monat/monate/monaten/monats quartal/quartals/quartale halbjahr jahr/jahre/jahren/jahres "
        "jahrzehnt wochenende/wochenenden/wochenendes",
        "part": "anfang mitte ende -",
        "ordinal": "erste/ersten/erstes zweite/zweiten/zweites dritte/dritten/drittes vierte/vierten/viertes -",
        "number": "ein/eine/einem/einer/einen zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "vague": "- ein_paar/paar/einige/einigen/wenige/wenigen/ein_paaren",
        "relative": "vorgestern gestern heute morgen übermorgen",
        "last": "letzte/letzter/letztes/letzten/letztem vorige/voriger/voriges/vorigen "
        "vergangene/vergangenen/vergangenes/vergangener",
        "this": "diese/dieser/dieses/diesen/diesem",
        "next": "nächste/nächster/nächstes/nächsten/nächstem kommende/kommenden/kommendes", "ago_before": "vor",
        "before": "vor", "in": "in im während", "on": "am um", "since": "seit", "until": "bis bis_zum bis_zu",
        "after": "nach", "from": "von vom", "between": "zwischen", "and": "und", "to": "bis bis_zum",
        "of": "des der von vom im", "the": "der die das den dem des", "yearword": "jahr jahre",
        "weekword": "kw kalenderwoche",
    },
    "fr": {
        "month": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "weekday": "lundi mardi mercredi jeudi vendredi samedi dimanche", "season": "printemps été automne hiver",
        "unit": "seconde/secondes minute/minutes heure/heures jour/jours/journée semaine/semaines quinzaine mois "
        "trimestre/trimestres semestre an/ans/année/années décennie "
        "week_end/week_ends/weekend/weekends/fin_de_semaine",
        "part": "début milieu/mi fin -", "ordinal": "premier/première deuxième/second/seconde troisième quatrième -",
        "number": "un/une deux trois quatre cinq six sept huit neuf dix onze douze", "vague": "- quelques/plusieurs",
        "relative": "avant_hier hier aujourd_hui demain après_demain",
        "last": "dernier/dernière/derniers/dernières passé/passée précédent/précédente", "this": "ce/cet/cette",
        "next": "prochain/prochaine/prochains/prochaines", "ago_before": "il_y_a y_a", "before": "avant",
        "in": "en au pendant durant dans le", "since": "depuis", "until": "jusqu_à jusqu_au jusqu_en jusqu_a",
        "after": "après", "from": "de du", "between": "entre", "and": "et", "to": "à au jusqu_à jusqu_au",
        "of": "de du d de_l", "the": "le la les l", "yearword": "année an",
    },
    "es": {
        "month": "enero febrero marzo abril mayo junio julio agosto septiembre/setiembre octubre noviembre diciembre",
        "weekday": "lunes martes miércoles jueves viernes sábado domingo",
        "season": "primavera verano otoño invierno",
        "unit": "segundo/segundos minuto/minutos hora/horas día/días semana/semanas quincena mes/meses "
        "trimestre/trimestres semestre año/años década fin_de_semana/finde/fines_de_semana",
        "part": "principios/inicios/comienzos/principio/inicio mediados finales/fines/final -",
        "ordinal": "primer/primera/primero segundo/segunda tercer/tercera/tercero cuarto/cuarta -",
        "number": "un/una/uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "vague": "un_par_de/par_de unos/unas/algunos/algunas/varios/varias",
        "relative": "anteayer/antier/antes_de_ayer ayer hoy mañana pasado_mañana",
        "last": "pasado/pasada/pasados/pasadas último/última/últimos/últimas anterior", "this": "este/esta",
        "next": "próximo/próxima/próximos/próximas que_viene siguiente/siguientes", "ago_before": "hace",
        "ago": "atrás", "before": "antes_de antes_del", "in": "en durante el", "since": "desde desde_hace",
        "until": "hasta", "after": "después_de después_del tras", "from": "de del desde", "between": "entre",
        "and": "y", "to": "a al hasta", "of": "de del", "the": "el la los las", "yearword": "año",
    },
    "it": {
        "month": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "weekday": "lunedì martedì mercoledì giovedì venerdì sabato domenica",
        "season": "primavera estate autunno inverno",
        "unit": "secondo/secondi minuto/minuti ora/ore giorno/giorni settimana/settimane - mese/mesi "
        "trimestre/trimestri semestre anno/anni decennio fine_settimana/weekend/week_end",
        "part": "inizio/inizi metà fine -", "ordinal": "primo/prima secondo/seconda terzo/terza quarto/quarta -",
        "number": "un/una/uno due tre quattro cinque sei sette otto nove dieci undici dodici",
        "vague": "un_paio_di/paio_di alcuni/alcune/qualche/pochi/poche",
        "relative": "l_altro_ieri/altro_ieri/avantieri ieri oggi domani dopodomani",
        "last": "scorso/scorsa/scorsi/scorse ultimo/ultima/ultimi/ultime passato/passata/passati",
        "this": "questo/questa/quest", "next": "prossimo/prossima/prossimi/prossime", "ago": "fa",
        "before": "prima_di prima_del prima_della", "in": "in a nel nello nella nell durante il",
        "since": "da dal dalla dall", "until": "fino_a fino_al fino_alla", "after": "dopo dopo_il",
        "from": "da dal dalla", "between": "tra fra", "and": "e", "to": "a al fino_a fino_al",
        "of": "di del della dell", "the": "il lo la gli i le l", "yearword": "anno",
    },
    "pt": {
        "month": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "weekday": "segunda_feira terça_feira quarta_feira quinta_feira sexta_feira sábado domingo",
        "season": "primavera verão outono inverno",
        "unit": "segundo/segundos minuto/minutos hora/horas dia/dias semana/semanas quinzena mês/meses "
        "trimestre/trimestres semestre ano/anos década fim_de_semana/final_de_semana",
        "part": "início/começo meados fim/final -",
        "ordinal": "primeiro/primeira segundo/segunda terceiro/terceira quarto/quarta -",
        "number": "um/uma dois/duas três quatro cinco seis sete oito nove dez onze doze",
        "vague": "um_par_de alguns/algumas/vários/várias/uns/umas",
        "relative": "anteontem ontem hoje amanhã depois_de_amanhã",
        "last": "passado/passada/passados/passadas último/última/últimos/últimas anterior",
        "this": "este/esta/neste/nesta/esse/essa/nesse/nessa", "next": "próximo/próxima/próximos/próximas que_vem",
        "ago_before": "há faz", "ago": "atrás", "before": "antes_de antes_do", "in": "em no na durante nos nas",
        "since": "desde", "until": "até", "after": "depois_de após", "from": "de do", "between": "entre", "and": "e",
        "to": "a até ao", "of": "de do da", "the": "o a os as", "yearword": "ano",
    },
    "nl": {
        "month": "januari februari maart april mei juni juli augustus september oktober november december",
        "weekday": "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
        "season": "lente/voorjaar zomer herfst/najaar winter",
        "unit": "seconde/seconden minuut/minuten uur/uren dag/dagen week/weken - maand/maanden kwartaal/kwartalen "
        "halfjaar jaar/jaren decennium weekend/weekeinde",
        "part": "begin midden/medio eind/einde -",
        "number": "een/één twee drie vier vijf zes zeven acht negen tien elf twaalf",
        "vague": "- een_paar/paar/enkele", "relative": "eergisteren gisteren vandaag morgen overmorgen",
        "last": "vorige/vorig afgelopen laatste", "this": "deze/dit", "next": "volgende/volgend komende",
        "ago": "geleden", "before": "voor", "in": "in op tijdens", "since": "sinds", "until": "tot tot_en_met",
        "after": "na", "from": "van", "between": "tussen", "and": "en", "to": "tot tot_en_met", "of": "van",
        "the": "de het", "yearword": "jaar",
    },
    "ru": {
        "month": "январь/января/январе/январю/январем февраль/февраля/феврале/февралю/февралем "
        "март/марта/марте/марту/мартом апрель/апреля/апреле/апрелю/апрелем май/мая/мае/маю/маем "
        "июнь/июня/июне/июню/июнем июль/июля/июле/июлю/июлем август/августа/августе/августу/августом "
        "сентябрь/сентября/сентябре/сентябрю/сентябрем октябрь/октября/октябре/октябрю/октябрем "
        "ноябрь/ноября/ноябре/ноябрю/ноябрем декабрь/декабря/декабре/декабрю/декабрем",
        "weekday": "понедельник/понедельника вторник/вторника среду/среды четверг/четверга "
        "пятницу/пятницы/пятница субботу/субботы/суббота воскресенье/воскресенья",
        "season": "весна/весной/весны/весну/весне лето/летом/лета/лете осень/осенью/осени зима/зимой/зимы/зиму/зиме",
        "unit": "секунду/секунды/секунд минуту/минуты/минут час/часа/часов день/дня/дней/дни "
        "неделя/неделю/недели/недель/неделе - месяц/месяца/месяцев/месяцы/месяце "
        "квартал/квартала/квартале полугодие/полугодии год/года/году/лет/годы/годах десятилетие "
        "выходные/выходных",
        "part": "начале/начало середине/середина конце/конец -",
        "ordinal": "первый/первая/первой/первом/первое второй/вторая/втором/второе третий/третья/третьей/третьем "
        "четвертый/четвертом/четвертой -",
        "number": "один/одну/одна два/две три четыре пять шесть семь восемь девять десять одиннадцать двенадцать",
        "vague": "пару/пара несколько", "relative": "позавчера вчера сегодня завтра послезавтра",
        "last": "прошлый/прошлая/прошлое/прошлые/прошлой/прошлом/прошлую/прошлых/прошлого "
        "последний/последняя/последние/последнюю/последних/последнее/последний",
        "this": "этот/эта/это/эти/этой/этом/эту/этих",
        "next": "следующий/следующая/следующие/следующую/следующей/следующем/следующее/следующих", "ago": "назад",
        "before": "до перед", "in": "в во на за", "since": "с со начиная_с", "until": "по до", "after": "после",
        "from": "с от", "between": "между", "and": "и", "to": "по до", "of": "-", "the": "-",
        "yearword": "год году года",
    },
    "pl": {
        "month": "styczeń/stycznia/styczniu luty/lutego/lutym marzec/marca/marcu kwiecień/kwietnia/kwietniu "
        "maj/maja/maju czerwiec/czerwca/czerwcu lipiec/lipca/lipcu sierpień/sierpnia/sierpniu "
        "wrzesień/września/wrześniu październik/października/październiku listopad/listopada/listopadzie "
        "grudzień/grudnia/grudniu",
        "weekday": "poniedziałek wtorek środę/środa czwartek piątek sobotę/sobota niedzielę/niedziela",
        "unit": "- - godzinę/godziny/godzin dzień/dni/dnia tydzień/tygodnie/tygodni/tygodniu - "
        "miesiąc/miesiące/miesięcy/miesiącu kwartał - rok/roku/lata/lat - weekend",
        "number": "jeden/jedną dwa/dwie trzy cztery pięć sześć siedem osiem dziewięć dziesięć", "vague": "parę kilka",
        "relative": "przedwczoraj wczoraj dzisiaj/dziś jutro pojutrze",
        "last": "zeszły/zeszła/zeszłym/zeszłego ostatni/ostatnie/ostatnich/ostatnia ubiegły/ubiegłym",
        "this": "ten/ta/tym/tego", "next": "następny/następnym przyszły/przyszłym/przyszła", "ago": "temu",
        "before": "przed", "in": "w we", "since": "od", "until": "do", "after": "po", "from": "od z",
        "between": "między", "and": "a i", "to": "do", "yearword": "rok roku",
    },
    "sv": {
        "month": "januari februari mars april maj juni juli augusti september oktober november december",
        "weekday": "måndag/måndags tisdag/tisdags onsdag/onsdags torsdag/torsdags fredag/fredags lördag/lördags "
        "söndag/söndags",
        "unit": "- - timme/timmar dag/dagar/dagarna vecka/veckan/veckor - månad/månaden/månader kvartal/kvartalet "
        "- år/året - helg/helgen",
        "number": "en/ett två tre fyra fem sex sju åtta nio tio", "vague": "ett_par/par några",
        "relative": "i_förrgår/förrgår igår/i_går idag/i_dag imorgon/i_morgon -", "last": "förra senaste",
        "this": "denna/detta", "next": "nästa", "ago": "sedan", "before": "före", "in": "i på under",
        "since": "sedan", "after": "efter", "from": "från", "between": "mellan", "and": "och", "to": "till",
    },
    "tr": {
        "month": "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
        "unit": "- - saat gün hafta - ay çeyrek - yıl/sene - -",
        "number": "bir iki üç dört beş altı yedi sekiz dokuz on", "relative": "- dün bugün yarın -",
        "last": "geçen son", "this": "bu", "next": "gelecek önümüzdeki", "ago": "önce",
    },
}  # fmt: skip

AMBIGUOUS_MONTHS: Final = frozenset({"may", "march", "mars", "mai", "mart", "ocak", "ekim", "aralik", "luty", "maj"})
"""Month names that are also other words; alone they need a sign that the month is meant."""
FALSE_FRIENDS: Final = frozenset({"hier"})
"""Words for a day that are common words of another language."""
AMBIGUOUS_SEASONS: Final = frozenset({"spring", "fall", "ete", "estate", "leto"})
"""Season names that are also other words; alone they count at the end of a phrase only."""

_HINTS: Final = {
    "en": "what did do we i the when how why who which is are was were of and to for with on in it my our about from show me all notes "
    "that this has have a at",
    "de": "was ist der die das und wir ich nicht haben wo wie sind im am von für mit auf zu den ein eine hat es bin",
    "fr": "le la les qu que qui quoi est ai je nous avons des du de et en dans pour sur au fait à un une",
    "es": "qué que el la los las de del y en por para con hice hicimos es un una",
    "it": "che cosa il la lo di del e in per con ho abbiamo è un una da dal",
    "pt": "o que a os as de do da e em por para com fiz fizemos é um uma",
    "nl": "wat de het een en van in op met is zijn hebben we ik heb",
    "ru": "что я мы и в на с по для", "pl": "co w i na z do się jest", "sv": "vad och i på är det att vi jag", "tr": "ne ve bir",
}  # fmt: skip
"""Frequent words of each language, by which the language of a question is guessed."""
COUNTED_NOUNS: Final = frozenset(
    """
    token tokens byte bytes kb mb gb chars characters words dims dimensions rows lines files items users people px ms points
    chunks documents requests records messages vectors nodes edges steps samples bits threads cores times dollars euros usd eur
    percent commits tests entries examples memories queries iterations epochs pages tables columns connections
    """.split()  # noqa: SIM905 - a paragraph of words reads better than a column of quotes
)
"""Nouns that are counted: a four-digit number before one of them is no year."""
NOT_A_SEASON: Final = frozenset(
    [
        "boot",
        "framework",
        "security",
        "mvc",
        "data",
        "cloud",
        "batch",
        "bean",
        "beans",
        "cleaning",
        "webflux",
        "ai",
        "load",
    ]
)
"""Words after "spring" that make it software or a coil."""
FIRST_NAMES: Final = frozenset({"april", "june", "august"})
"""Months that are also names of people: alone, and without a preposition, they stay below the confidence of a filter."""


def _bits(*names: str) -> int:
    return sum(1 << LANGUAGES.index(name) for name in names)


ENGLISH: Final = _bits("en")
SIDE_LAST: Final = _bits("fr", "es", "it", "pt")
"""Languages that say ``week last``; elsewhere "the week last seen" is no week."""
UNIT_ALONE: Final = _bits("ru", "pl")
"""Languages that say ``week ago`` for one week."""


class Sense(NamedTuple):
    """One meaning of a word: its value and the languages (a bit each) in which it has it."""

    value: str | int
    languages: int


Senses = dict[str, Sense]


def fold(word: str) -> str:
    """Return a word without case, accents and width."""
    if word.isascii():
        return word.lower()
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in parts if not unicodedata.combining(letter)).replace("ı", "i").replace("ł", "l")


@functools.cache
def vocabulary() -> dict[str, Senses]:
    """Return the senses of each folded word; expressions of several words are joined by spaces."""
    found: dict[str, Senses] = {}
    for bit, language in enumerate(LANGUAGES):
        for category, text in WORDS[language].items():
            values = _ORDERED.get(category)
            for place, spellings in enumerate(text.split()):
                for spelling in spellings.split("/"):
                    if spelling != "-":
                        value = category if values is None else values[place]
                        _add(found, fold(spelling.replace("_", " ")), category, value, 1 << bit)
    return found


def words_of_month(month: int) -> list[str]:
    """Return the names and abbreviations of a month in all languages, longest first."""
    every = (words[name].split()[month - 1] for words in WORDS.values() for name in _MONTH_WORDS if name in words)
    return sorted({word for each in every for word in each.split("/")} - {"-"}, key=lambda word: (-len(word), word))


_MONTH_WORDS: Final = ("month", "abbreviation")


def _add(found: dict[str, Senses], word: str, category: str, value: str | int, language: int) -> None:
    senses = found.setdefault(word, {})
    known = senses.get(category)
    if known is None:
        senses[category] = Sense(value, language)
    elif known.value == value:
        senses[category] = Sense(value, known.languages | language)


@functools.cache
def expressions() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the expressions of several words by their first word, the longest first."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for key in vocabulary():
        words = tuple(key.split())
        if len(words) > 1:
            found.setdefault(words[0], []).append(words)
    return {first: tuple(sorted(group, key=lambda words: (-len(words), words))) for first, group in found.items()}


@functools.cache
def _hints() -> dict[str, int]:
    found: dict[str, int] = {}
    for bit, language in enumerate(LANGUAGES):
        for word in _HINTS[language].split():
            found[fold(word)] = found.get(fold(word), 0) | 1 << bit
    return found


def guess_languages(words: Iterable[str]) -> int:
    """Return the languages (a bit each) with most hints in a question; all without a hint."""
    counts = [0] * len(LANGUAGES)
    hints = _hints()
    for bits in filter(None, map(hints.get, words)):
        for bit in range(len(LANGUAGES)):
            counts[bit] += bits >> bit & 1
    most = max(counts)
    return sum(1 << bit for bit, count in enumerate(counts) if count == most) if most else ALL_LANGUAGES


_ANCHOR_CATEGORIES: Final = frozenset(
    {"month", "abbreviation", "weekday", "weekday_short", "season", "unit", "relative", "daypart", "yearword"}
)
"""Categories of which every phrase without a digit has a word."""
_BOUNDS: Final = frozenset({"before", "after", "since", "until", "till"})
"""Prepositions before an event in place of a date."""
_BESIDE_AN: Final = frozenset(
    "un l cet dernier prochain passe precedent y depuis quelques deux trois fin debut".split()  # noqa: SIM905
)
"""The French word for year is an English article: it counts beside one of these words."""
_ASCII_WORD: Final = re.compile("[a-z]+")
_UNSPACED: Final = 0x3040
"""From this code point on scripts put no blanks between words."""


@functools.cache
def anchors() -> frozenset[str]:
    """Return the folded words of which every phrase without a digit has one."""
    texts = (text for table in WORDS.values() for category, text in table.items() if category in _ANCHOR_CATEGORIES)
    # of an expression the longest word
    spellings = (spelling for text in texts for spelling in text.replace("/", " ").split())
    words = (max((fold(part) for part in spelling.split("_")), key=len) for spelling in spellings)
    return frozenset(word for word in words if len(word) > 1)


def may_mention_time(text: str) -> bool:
    """Return False only for a text without any time phrase, by a look at its words; O(length).

    Never False where `lamina_engine.recall.time_expression.understand_time` finds something.
    """
    if any(map(str.isdigit, text)):
        return True
    if not text.isascii():
        if max(text) >= chr(_UNSPACED):
            return True
        text = fold(text)
    if text.isascii():
        words = set(_ASCII_WORD.findall(text.lower()))
    else:
        words = set("".join(letter if letter.isalpha() else " " for letter in text.lower()).split())
    if not words.isdisjoint(_BOUNDS):
        return True
    met = words & anchors()
    return bool(met) and (met != {"an"} or not words.isdisjoint(_BESIDE_AN))
