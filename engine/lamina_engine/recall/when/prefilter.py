"""Whether a text can speak of time at all: a look at its words, before anything of the grammar is imported or compiled.

Every phrase of time has a digit, a word for a day, a month, a unit or the like, or is written without blanks. The words are
those of `phrases`, written out: this module is imported by every recall, that one by those that need it.
"""

from __future__ import annotations

import re
from typing import Final

ANCHORS: Final = frozenset(
    """
    abril afternoon agosto agustos altro amanha an annee annees anni anno ano anos ans anteayer anteontem antes
    antier aout apr april aprile ar aralik aret aug august augusti augustus aujourd automne autumn autunno avant
    avantieri avril ay ayer bugun ceyrek czerwca czerwcu czerwiec czwartek dag dagar dagarna dagen day days dec
    decada decade decades december decembre decennie decennio decennium demain depois dezember dezembro dia dias
    dicembre diciembre dienstag dimanche dinsdag dni dnia domani domenica domingo donderdag donnerstag dopodomani
    dun dzien dzis dzisiaj eergisteren ekim enero estate ete evening eylul fall feb febbraio febrero februar
    februari february fevereiro fevrier finde forrgar fortnight fortnights fredag fredags freitag fri friday
    fruhjahr fruhling gar gennaio gestern giorni giorno giovedi gisteren giugno godzin godzine godziny grudnia
    grudniu grudzien gun hafta halbjahr half halfjaar haziran helg helgen herbst herfst heure heures heute hier
    hiver hoje hora horas hour hours hoy hr hrs idag ieri igar imorgon inverno invierno jaar jahr jahre jahren
    jahres jahrzehnt jan janeiro janner januar januari january janvier jaren jeudi jour journee jours jueves juillet
    juin jul julho juli julio july jun june junho juni junio jutro kasim kvartal kvartalet kwartaal kwartal
    kwartalen kwiecien kwietnia kwietniu lat lata lente lipca lipcu lipiec listopad listopada listopadzie lordag
    lordags luglio lundi lunedi lunes lutego luty lutym maand maandag maanden maart maerz maggio mai maio maj maja
    maju manad manaden manader manana mandag mandags mar marca march marco marcu mardi mars mart martedi martes marz
    marzec marzo may mayis mayo mei mercoledi mercredi mes mese meses mesi miercoles miesiac miesiace miesiacu
    miesiecy min mins minute minuten minutes minuti minuto minutos minuut mittwoch mo mois mon monat monate monaten
    monats monday montag month months morgen morgon morning mos mth mths najaar niedziela niedziele night nisan nov
    november novembre novembro noviembre ocak oct october octobre octubre oggi oktober onsdag onsdags ontem ora ore
    otono ottobre outono outubro overmorgen pasado pazdziernik pazdziernika pazdzierniku piatek pojutrze
    poniedzialek primavera printemps przedwczoraj qtr quarta quartal quartale quartals quarter quarters quincena
    quinta quinzaine quinzena rok roku saat sabado sabato samedi samstag sat saturday sec second seconde seconden
    secondes secondi secondo seconds secs segunda segundo segundos sekunde sekunden semaine semaines semana semanas
    semestre sene sep sept september septembre septiembre setembro setiembre settembre settimana settimane sexta
    sierpien sierpnia sierpniu sobota sobote sommer sondag sondags sonnabend sonntag spring springtime sroda srode
    stunde stunden styczen stycznia styczniu subat summer summertime sun sunday tag tage tagen tages temmuz terca
    thu thur thurs thursday timmar timme tisdag tisdags tmrw today tomorrow tonight torsdag torsdags trimestre
    trimestres trimestri tue tues tuesday tydzien tygodni tygodnie tygodniu ubermorgen uren uur vandaag vecka veckan
    veckor vendredi venerdi verano verao viernes voorjaar vorgestern vrijdag wczoraj wed wednesday week weekeinde
    weekend weekends weeks weken winter wintertime wk wks woche wochen wochenende wochenenden wochenendes woensdag
    wrzesien wrzesnia wrzesniu wtorek yarin yday year years yesterday yil yr yrs zaterdag zomer zondag август
    августа августе августом августу апреле апрелем апрель апрелю апреля весна весне веснои весну весны воскресенье
    воскресенья вторник вторника вчера выходные выходных год года годах году годы декабре декабрем декабрь декабрю
    декабря день десятилетие днеи дни дня завтра зима зиме зимои зиму зимы июле июлем июль июлю июля июне июнем июнь
    июню июня квартал квартала квартале лет лета лете лето летом мае маем маи март марта марте мартом марту маю мая
    месяц месяца месяце месяцев месяцы минут минуту минуты неделе недели недель неделю неделя ноябре ноябрем ноябрь
    ноябрю ноября октябре октябрем октябрь октябрю октября осени осень осенью позавчера полугодие полугодии
    понедельник понедельника послезавтра пятница пятницу пятницы сегодня секунд секунду секунды сентябре сентябрем
    сентябрь сентябрю сентября среду среды суббота субботу субботы феврале февралем февраль февралю февраля час часа
    часов четверг четверга январе январем январь январю января
    """.split()  # noqa: SIM905 - a paragraph of words reads better than a column of quotes
)
"""A word of every phrase of time that has no digit, folded; of expressions of several words the longest."""
_BOUNDS: Final = frozenset({"before", "after", "since", "until", "till"})
"""What may stand before an event in place of a date."""
_BESIDE_AN: Final = frozenset(
    {
        "un",
        "l",
        "cet",
        "dernier",
        "prochain",
        "passe",
        "precedent",
        "y",
        "depuis",
        "quelques",
        "deux",
        "trois",
        "fin",
        "debut",
    }
)
"""Year, in French, is an article in English: it counts beside one of these."""
_ASCII_WORD: Final = re.compile("[a-z]+")
_UNSPACED: Final = 0x3040
"""From here on scripts put no blanks between words; what is below U+1100 is cut at blanks."""


def may_speak_of_time(text: str) -> bool:
    """Tell whether a text has anything that a phrase of time is made of; O(length).

    Never False where `lamina_engine.recall.understand.understood` finds something.
    """
    if any(map(str.isdigit, text)):
        return True
    if not text.isascii():
        if max(text) >= chr(_UNSPACED):
            return True
        from lamina_engine.recall.when.phrases import fold

        text = fold(text)
    if text.isascii():
        words = set(_ASCII_WORD.findall(text.lower()))
    else:
        words = set("".join(letter if letter.isalpha() else " " for letter in text.lower()).split())
    if not words.isdisjoint(_BOUNDS):
        return True
    met = words & ANCHORS
    return bool(met) and (met != {"an"} or not words.isdisjoint(_BESIDE_AN))
