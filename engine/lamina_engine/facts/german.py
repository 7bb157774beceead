"""German in English: for German questions, and for English questions over German texts.

The rules for the parts of a question look at words of grammar and at where verbs stand, and both languages ask for who, when and
where alike. So a German question is read with its words of grammar in English, and so are the sentences that may answer it; the
nouns of both stay German and meet each other. For an English question ("the rent") the nouns, verbs and adjectives of notes of a
household and of a workshop are put into English too, with their compounds ("Garagenmiete"). What is not in the tables stays as it is.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from typing import Final

from lamina_engine.facts.wording import stem

_GRAMMAR: Final = """
who wer wen wem; whose wessen; what was; where wo wohin woher; when wann; why warum wieso weshalb
which welche welcher welches welchen welchem; the der die das den dem des; a ein eine einen einem einer eines
our unser unsere unseren unserem unserer; its sein seine seinen seinem seiner ihr ihre ihren ihrem ihrer; is ist wird; are sind werden
was wurde war; were wurden waren; has hat; have haben; had hatte hatten; does tut; can kann können; in im ins; on am auf; at an bei beim
from von vom; to zum zur zu; for für; with mit; until bis; since seit; by durch; under unter; over über; after nach; before vor vorher
per pro; and und; or oder; but aber sondern; not nicht; no kein keine keinen keinem keiner; never nie niemals; nobody niemand
maybe vielleicht eventuell; might könnte sollte; formerly früher ehemals bisher damals; he er; she sie; it es; because weil wegen
that dass; this dieser diese dieses diesen diesem; everyone alle; we wir; you man; owns gehört; stands steht befindet hängt; lies liegt
costs kostet kosten; called heißt heisst genannt; runs läuft; leads leitet; leader leiter leiterin leitung
responsible verantwortlich zuständig; opens öffnet; closes schließt; begins beginnt; ends endet; leaves fährt; bought gekauft
sold verkauft; paid bezahlt; carries trägt; last zuletzt; euro euros; days tage tagen; hours stunden; minutes minuten; weeks wochen
months monate monaten; years jahre jahren; degrees grad; metres meter metern; percent prozent; daily täglich; weekly wöchentlich
monthly monatlich; yearly jährlich; every jeden jede jedes; january januar; february februar; march märz; may mai; june juni; july juli
october oktober; december dezember; monday montag montags; tuesday dienstag dienstags; wednesday mittwoch mittwochs
thursday donnerstag donnerstags; friday freitag freitags; saturday samstag samstags sonnabend; sunday sonntag sonntags; now jetzt nun
currently derzeit momentan aktuell; today heute; long lang lange; often oft; high hoch; big groß gross; old alt; deep tief; wide breit
heavy schwer; warm warm; fast schnell; far weit
"""
"""English words of grammar, each with German ones."""
_WORDS: Final = """
rent miete pacht; landlord vermieter vermieterin; tenant mieter mieterin; flat wohnung; house haus; home heim zuhause; room zimmer raum
kitchen küche; bathroom bad badezimmer; cellar keller; garage garage; garden garten; yard hof; roof dach
floor stock stockwerk etage boden; door tür türe; gate tor; window fenster; wall wand mauer; stairs treppe; key schlüssel; lock schloss
heating heizung; boiler kessel heizkessel therme; stove ofen herd; fridge kühlschrank; water wasser; power strom; electricity elektrizität
gas gas; oil öl; light licht; lamp lampe; meter zähler; waste müll abfall; rubbish restmüll; paper papier pappe; furniture möbel
table tisch; chair stuhl; bed bett; cupboard schrank; shelf regal brett; box kiste schachtel; drawer schublade; colour farbe
paint lack anstrich; office büro; desk schreibtisch arbeitsplatz; company firma unternehmen betrieb gesellschaft
employee mitarbeiter mitarbeiterin angestellter; boss chef chefin; head vorgesetzter
manager geschäftsführer geschäftsführerin verwalter verwalterin; lead leiten leitet leitete leitung leiter leiterin; project projekt
customer kunde kundin kunden; supplier lieferant anbieter; provider betreiber dienstleister versorger; partner partner
authority behörde amt; contact ansprechpartner ansprechpartnerin kontakt; contract vertrag; deposit kaution anzahlung; notice kündigung
period frist zeitraum laufzeit; deadline stichtag abgabe; invoice rechnung; bill abrechnung; price preis; cost kosten kostet
fee gebühr beitrag; tax steuer; insurance versicherung; insurer versicherer; offer angebot; order bestellung auftrag bestellen
delivery lieferung; account konto; bank bank; money geld; cash bar; payment zahlung; refund erstattung; loan kredit darlehen
salary gehalt lohn; budget budget haushalt; amount betrag summe; discount rabatt; fine strafe; market markt; launch start einführung
start beginn anfang starten; begin beginnen; end ende enden; planned geplant; plan plan; date datum termin; appointment verabredung
meeting besprechung sitzung treffen; holiday urlaub feiertag; holidays ferien; birthday geburtstag; wedding hochzeit; party feier fest
year jahr; month monat; week woche; day tag; hour stunde; morning vormittag; evening abend; night nacht; noon mittag; time zeit uhrzeit
duration dauer; reading ablesung; collected abgeholt; take dauern dauert brauchen braucht benötigt; opening öffnung; school schule
class klasse; teacher lehrer lehrerin; pupil schüler schülerin; student student studentin; course kurs lehrgang; lesson unterricht
exam prüfung klausur; test test prüf; bench stand; training ausbildung schulung; kindergarten kindergarten kita
university universität hochschule; library bibliothek bücherei; book buch; child kind kinder; son sohn; daughter tochter; mother mutter
father vater; grandmother oma großmutter; grandfather opa großvater; parents eltern; sister schwester; brother bruder; aunt tante
uncle onkel; cousin cousine vetter; wife frau ehefrau; husband mann ehemann; friend freund freundin; neighbour nachbar nachbarin
family familie; doctor arzt ärztin; dentist zahnarzt zahnärztin; vet tierarzt tierärztin; practice praxis; hospital krankenhaus klinik
pharmacy apotheke; medicine medikament arznei; pill tablette; vaccination impfung; allergy allergie; glasses brille; blood blut; knee knie
back rücken; tooth zahn; pain schmerz schmerzen; operation operation; dog hund; cat katze; horse pferd; bird vogel; bee biene
hen huhn hühner; animal tier; food futter essen; breakfast frühstück; lunch mittagessen; dinner abendessen; bread brot; cake kuchen
flour mehl; sugar zucker; salt salz; butter butter; egg ei eier; milk milch; cheese käse; meat fleisch; sausage wurst; vegetables gemüse
fruit obst; apple apfel; potato kartoffel; tomato tomate; honey honig; wine wein; beer bier; coffee kaffee; tea tee; recipe rezept
oven backofen; temperature temperatur; heat hitze; cold kälte; car auto wagen fahrzeug; bike rad fahrrad; train zug bahn; bus bus
tram straßenbahn; plane flugzeug; flight flug; ticket karte fahrkarte; trip reise fahrt ausflug; station bahnhof; tyre reifen
battery batterie akku; engine motor; trailer anhänger; driver fahrer fahrerin; licence führerschein lizenz; workshop werkstatt
repair reparatur; service wartung; inspection inspektion; mechanic mechaniker; craftsman handwerker; plumber installateur klempner
electrician elektriker; roofer dachdecker; painter maler; carpenter tischler schreiner; caretaker hausmeister hausmeisterin
cleaner putzfrau reinigungskraft; gardener gärtner gärtnerin; lawyer anwalt anwältin; adviser berater beraterin
treasurer kassenwart kassenwartin schatzmeister; chair vorsitzender vorsitzende vorstand; secretary sekretär sekretärin schriftführer
member mitglied; membership mitgliedschaft; club verein; association verband; choir chor; conductor dirigent dirigentin; rehearsal probe
concert konzert; song lied; music musik noten; piano klavier; violin geige; guitar gitarre; singer sänger sängerin; theatre theater
play stück; game spiel; team mannschaft; coach trainer trainerin; sport sport; swimming schwimmen; match partie; city stadt; town ort
village dorf; street straße; square platz; address adresse anschrift; place stelle; church kirche; hall halle saal; parish gemeinde
mayor bürgermeister bürgermeisterin; country land; germany deutschland; austria österreich; switzerland schweiz; france frankreich
italy italien; netherlands niederlande niederlanden; denmark dänemark; river fluss; lake see; mountain berg; forest wald; field feld
tree baum; plant pflanze; flower blume; grass rasen gras; soil erde; weather wetter; rain regen; snow schnee; storm sturm; frost frost
machine maschine; device gerät; tool werkzeug; part teil; part ersatzteil; screw schraube; pipe rohr leitung; pump pumpe; hose schlauch
cable kabel; socket steckdose; fuse sicherung; switch schalter; sensor sensor fühler; inverter wechselrichter; panel modul; yield ertrag
charge laden; charging lade; charger ladegerät ladestation; load last; controller steuerung; calibration kalibrierung eichung
measurement messung; run durchlauf lauf; full voll; half halb; computer rechner computer; screen bildschirm; keyboard tastatur
printer drucker; network netz netzwerk; internet internet; fibre glasfaser; router router; server server; password passwort kennwort
user benutzer nutzer; access zugang zugriff; permission berechtigung erlaubnis; backup sicherung; data daten; file datei; folder ordner
database datenbank; software software; firmware firmware; version version; update aktualisierung; release freigabe; error fehler
failure ausfall störung; interface schnittstelle oberfläche weboberfläche; page seite; website webseite internetseite; mail post
letter brief; parcel paket; number nummer zahl; phone telefon; mobile handy; call anruf; emergency notfall notruf; code code
signature unterschrift; stamp stempel; form formular antrag; certificate bescheinigung zertifikat; record datensatz aufzeichnung
archive archiv; retention aufbewahrung; keep aufbewahren; law gesetz; rule regel; duty pflicht; permit genehmigung; size größe
width breite; height höhe; length länge; depth tiefe; weight gewicht; area fläche; capacity kapazität; pressure druck
speed geschwindigkeit; limit grenze obergrenze; maximum höchst maximal maximum; minimum mindest minimal minimum; share anteil; value wert
owner besitzer besitzerin eigentümer eigentümerin inhaber inhaberin; own besitzt; responsible verantwortlich zuständig; new neu; old alt
big groß; small klein; red rot; green grün; blue blau; yellow gelb; black schwarz; white weiß; left links; right rechts; upper oben
lower unten; front vorne vorder; rear hinten hinter; first erste; second zweite; third dritte; next nächste; allowed erlaubt
forbidden verboten; open geöffnet offen; closed geschlossen; closes schließt; free frei; works arbeitet; lives wohnt; pay zahlt zahlen
buy kaufen; sell verkaufen; lend leihen verleiht; borrow ausleihen; rents mietet mieten vermietet; holds hält; writes schreibt
reads liest; sings singt; plays spielt; makes macht; gets bekommt erhält; gives gibt; brings bringt; picks holt; cleans putzt reinigt
repairs repariert; checks prüft; builds baut; installed eingebaut montiert installiert; moved umgezogen eingezogen
replaced ersetzt ausgetauscht; registered angemeldet; broken kaputt defekt; amounts beträgt betragen; valid gültig; two zwei; three drei
four vier; five fünf; six sechs; seven sieben; eight acht; nine neun; ten zehn; eleven elf; twelve zwölf; twenty zwanzig; thirty dreißig
fifty fünfzig; hundred hundert
"""
"""The same of everyday and of work."""


def _entries(table: str) -> list[list[str]]:
    return [entry.split() for entry in table.replace("\n", ";").split(";") if entry.strip()]


_GRAMMAR_OF: Final = {german: english for english, *words in _entries(_GRAMMAR) for german in words}
_ENGLISH: Final = {german: english for english, *words in _entries(_WORDS) for german in words}
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
_ENDINGS: Final = ("", "en", "er", "em", "es", "e", "n", "s", "t", "et")
_LINKS: Final = ("", "s", "n", "es", "en", "e")
_SHORTEST: Final = 4
"""Letters of a part of a compound."""
_FREE_WORD: Final = re.compile(r"(?<![\w@./-])[^\W\d_]+(?![\w@/]|[.-]\w)")
"""Words that are part of no address and no name with hyphens."""
_PERSON: Final = re.compile(r"(?:(?:Frau|Herr|Herrn|Firma|Familie|Dr\.|Prof\.) )+\w[\w-]*")
_WORD: Final = re.compile(r"[^\W\d_]+")


def is_german(question: str) -> bool:
    """Return whether a question begins with a German question word."""
    return _QUESTION.match(question) is not None


def in_english_grammar(text: str) -> str:
    """Return a German text with its grammar in English; nouns behind articles in lower case."""
    text = _ARTICLES.sub(lambda found: f"{found[1]} {found[2].lower()}", text)
    for pattern, words in _PHRASES:
        text = pattern.sub(words, text)
    return _WORD.sub(lambda found: _GRAMMAR_OF.get(found[0].lower(), found[0]), text)


def in_english(text: str) -> str:
    """Return a German text with the words that are known here, and its grammar, in English."""
    parts: list[str] = []
    end = 0
    for name in _PERSON.finditer(text):
        parts += [_FREE_WORD.sub(_translate, text[end : name.start()]), name[0]]
        end = name.end()
    return in_english_grammar("".join((*parts, _FREE_WORD.sub(_translate, text[end:]))))


def in_german(word: str) -> tuple[str, ...]:
    """Return the German words for an English one, or a form of it."""
    return _by_stem().get(stem(word.lower()), ())


def _translate(found: re.Match[str]) -> str:
    word = found[0].lower()
    return found[0] if word in _GRAMMAR_OF else _english(word) or found[0]


@functools.lru_cache(1 << 14)
def _english(word: str) -> str:
    """Return a German word, or a compound of two, in English; empty where it is not known."""
    whole = _simple(word)
    if whole or len(word) < 2 * _SHORTEST:
        return whole
    for at in range(_SHORTEST, len(word) - _SHORTEST + 1):
        first, second = _linked(word[:at]), _simple(word[at:])
        if first and second:
            return f"{first} {second}"
    return ""


def _linked(word: str) -> str:
    """Return what the first part of a compound is in English."""
    forms = (word.removesuffix(link) for link in _LINKS)
    return next((_ENGLISH[form] for form in forms if form in _ENGLISH), "")


def _simple(word: str) -> str:
    """Return what one word is in English, in any of its plain forms."""
    for ending in _ENDINGS:
        if word.endswith(ending) and (len(word) > len(ending) + 2 or not ending):
            base = word[: len(word) - len(ending)]
            for form in (base, f"{base}e", f"{base}en"):
                if form in _ENGLISH:
                    return _ENGLISH[form]
    return ""


@functools.cache
def _by_stem() -> dict[str, tuple[str, ...]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for english, *german in _entries(_WORDS):
        found[stem(english)] += german
    return {english: tuple(german) for english, german in found.items()}
