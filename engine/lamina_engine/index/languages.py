"""Languages of texts, told by their function words, and the stemmer of each.

A language is told from the words that only its grammar needs ("der", "und", "nicht"): no model, the same answer everywhere,
and a look at each distinct word of a batch, not at each text. A text is English unless function words of another language
that English lacks outnumber those that only English has; the text itself decides, then its header, then the chunks before it.

Stemming is Tantivy's Snowball [1]_. A word is stemmed as it is written, accents included, which its rules ask for, and
folded then; a word with accents is also indexed by the stem that it has without them, as people leave them out.

References
----------
.. [1] M. Porter, R. Boulton, Snowball: https://snowballstem.org; the function words begin with its stop-word lists (BSD).
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from lamina_kernels.layouts import BOOL, I32, I64, U8, U32

ENGLISH: Final = "english"
APOSTROPHES: Final = "'\u2018\u2019\u02bc"
_SHORT: Final = 7
"""Bytes of a function word that tells a language: such a word is its own key in `lamina_kernels.tokens`."""
_FEW_PIECES: Final = 12
"""In texts up to so long one function word of three letters tells the language; in others two different ones do."""
_THREE: Final = 1 << 31
"""Bit of function words of three letters or more."""
_ZONES: Final = 3

_FUNCTION_WORDS: Final = {
    "german": """aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes anderm andern
        anderr anders auch auf aus bei beim bin bis bist bitte da damit dann das dazu daß dein deine deinem deinen
        deiner deines dem den denn der derer des dessen dich die dies diese diesem diesen dieser dieses dir doch dort du
        durch ein eine einem einen einer eines einig einige einigem einigen einiger einiges einmal er es etwas euch euer
        eure eurem euren eurer eures für ganz gegen gern gewesen gibt hab habe haben hat hatte hatten hier hin hinter
        ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im immer in indem ins ist jede jedem jeden jeder jedes jene
        jenem jenen jener jenes jetzt kann kein keine keinem keinen keiner keines können könnte lautet machen mal man
        manche manchem manchen mancher manches mehr mein meine meinem meinen meiner meines mich mir mit muss musste nach
        nicht nichts noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seines selbst sich sie sind so
        solche solchem solchen solcher solches soll sollte sondern sonst sowie um und uns unse unsem unsen unser unses
        unter viel vom von vor wann war waren warst warum was weg weil weiter welche welchem welchen welcher welches wem
        wen wenn wer werde werden weshalb wie wieder wieso will wir wird wirst wo woher wohin wollen wollte worden wurde
        wurden würde würden zu zum zur zwar über""",
    "french": """ai aie aient aies ait alors après as au aura aurai aurais aurait auras aurez auriez aurions aurons auront aussi
        aux avaient avais avait avant avec avez aviez avions avoir avons ayant ayez ayons c ce ceci cela celà ces cet
        cette chez combien comme comment d dans de depuis des donc dont du elle elles en entre es est et eu eue eues
        eurent eus eusse eussent eusses eussiez eut eux eûmes eût eûtes fait faut furent fus fusse fussent fusses
        fussiez fut fûmes fût fûtes ici il ils j je l la le les leur leurs lui m ma mais me mes moi mon même n ne nos
        notre nous on ont ou où par pas pendant peut plus pour pourquoi qu quand que quel quelle quelles quels qui s sa
        sans se sera serai serais serait seras serez seriez serions serons seront ses si soi soient sois soit sommes son
        sont sous soyez soyons suis sur t ta te tes toi ton tous tout toute toutes très tu un une vos votre vous y à ça
        étais était étant étiez étions été étée étées étés êtes être""",
    "spanish": """a al algo algunas algunos ante antes así cada como con contra cual cuando cuál cuáles cuándo cuánta cuántas
        cuánto cuántos cómo de del desde donde durante dónde e el ella ellas ellos en entre era erais eran eras eres es
        esa esas ese eso esos esta estaba estaban estabas estad estada estadas estado estados estamos estando estar
        estará estaré estas este estemos esto estos estoy estuve estuvo está estáis están estás esté estéis estén estés
        fue fuera fuerais fueran fueras fueron fuese fueseis fuesen fueses fui fuimos fuiste ha habida habidas habido
        habidos habrá habrán habrás habré habría habéis había habían habías han has hasta hay haya hayamos hayan hayas
        hayáis he hemos hube hubiera hubiese hubimos hubiste hubo la las le les lo los me mi mis mucho muchos muy más mí
        mía mías mío míos nada ni no nos nuestra nuestro o os otra otras otro otros para pero poco por porque que quien
        quienes quiénes qué se sea seamos sean seas según seremos será serán serás seré seréis sería serían serías seáis
        sido siendo sin sobre sois somos son soy su sus suya suyas suyo suyos sí tanto te tendrá tendré tened tenemos
        tenga tengan tengas tengo tenida tenidas tenido tenidos tenéis tenía tenían tenías ti tiene tienen tienes todo
        todos tu tus tuve tuviera tuviese tuvimos tuviste tuvo tuya tuyas tuyo tuyos tú un una uno unos vuestra vuestro
        y ya yo él éramos""",
    "italian": """a abbia abbiamo abbiano abbiate ad agl agli ai al all alla alle allo anche avemmo avendo avesse avessi aveste
        avesti avete aveva avevamo avevano avevate avevi avevo avrai avranno avrebbe avrei avremmo avremo avreste
        avresti avrete avrà avrò avuta avute avuti avuto c che chi ci coi col come con contro cosa cui da dagl dagli dai
        dal dall dalla dalle dallo degl degli dei del dell della delle dello di dopo dov dove e ebbe ebbero ebbi ed era
        erano eravamo eravate eri ero essendo essere faccia faccio facemmo facendo facesse facessi faceste facesti
        faceva facevi facevo fai fanno farai faranno farebbe farei faremmo faremo fareste faresti farete farà farò fece
        fecero feci fosse fossero fossi fossimo foste fosti fra fu fui fummo furono gli ha hai hanno ho i il in io l la
        le lei li lo loro lui ma mi mia mie miei mio ne negl negli nei nel nell nella nelle nello noi non nostra nostre
        nostri nostro o ogni per perché più prima quale quali quando quanta quante quanti quanto quella quelle quelli
        quello questa queste questi questo sarai saranno sarebbe sarei saremmo saremo sareste saresti sarete sarà sarò
        se sei senza si sia siamo siano siate siete sono sta stai stando stanno starai starei staremo starete starà
        starò stava stavamo stavano stavate stavi stavo stemmo stesse stessi steste stesti stette stetti stia stiamo
        stiano stiate sto su sua sue sugl sugli sui sul sull sulla sulle sullo suo suoi ti tra tu tua tue tuo tuoi tutti
        tutto un una uno vi viene voi vostra vostre vostri vostro è""",
    "portuguese": """a ao aos após aquela aquelas aquele aqueles aquilo as até cada com como da das de dela delas dele deles depois
        do dos e ela elas ele eles em entre era eram essa essas esse esses esta estamos estas estava estavam este esteja
        estejam estes esteve estive estiver estou está estão eu foi fomos for fora foram forem formos fosse fossem fui
        haja hajam hajamos havemos hei houve houver houvera há hão isso isto já lhe lhes mais mas me mesmo meu meus
        minha minhas muito na nas nem no nos nossa nossas nosso nossos num numa não nós o onde os ou para pela pelas
        pelo pelos pode por porque quais qual quando quanta quanto quantos que quem se seja sejam sejamos sem serei
        seremos seria seriam será serão seu seus sobre somos sou sua suas são só também te tem temos tenha tenham tenho
        terei teremos teria teriam terá terão teu teus teve tinha tinham tive tivemos tiver tivera tiveram tiverem
        tivesse tu tua tuas tém um uma você vocês vos à às é éramos""",
    "dutch": """aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er ge
        geen geweest haar had heb hebben heeft hem het hier hij hoe hoeveel hun iemand iets ik in is ja je jullie kan
        kon kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons onze ook op over
        reeds sinds te tegen tijdens toch toen tot tussen u uit uw van veel voor waar waarom wanneer want waren was wat
        welk welke werd wezen wie wil worden wordt zal ze zelf zich zij zijn zo zonder zou""",
    "danish": """ad af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din disse dog du efter
        eller en end er et for fra ham han hans har havde have hende hendes her hos hun hvad hvem hvilke hvilken hvilket
        hvis hvor hvordan hvorfor hvornår i ikke ind jeg jer jo kunne man mange med meget mellem men mig min mine mit
        mod ned noget nogle nu når og også om op os over på selv sig sin sine sit skal skulle som sådan thi til ud uden
        under var vi vil ville vor være været""",
    "swedish": """alla allt att av blev bli blir blivit de dem den denna deras dess dessa det detta dig din dina ditt du där då
        efter ej eller en er era ert ett finns från för ha hade han hans har henne hennes hon honom hur här i icke ingen
        inom inte jag ju kan kunde man med mellan men mig min mina mitt mot mycket ni nu när någon något några och också
        om oss på samma sedan sig sin sina sitta själv skulle som så sådan sådana sådant till under upp ut utan vad var
        vara varför varit varje vars vart vem vi vid vilka vilkas vilken vilket vår våra vårt än är åt över""",
    "norwegian": """alle at av bare begge ble blei bli blir blitt både båe da de deg dei deim deira deires dem den denne der dere
        deres det dette di din disse ditt du dykk dykkar då eg ein eit eitt eller elles en enn er et ett etter for fordi
        fra før ha hadde han hans har hennar henne hennes her hjå ho hoe honom hoss hossen hun hva hvem hver hvilke
        hvilken hvis hvor hvordan hvorfor i ikke ikkje ingen ingi inkje inn inni ja jeg kan kom korleis korso kun kunne
        kva kvar kven kvi kvifor man mange me med medan meg meget mellom men mi min mine mitt mot mykje ned no noe noen
        noka noko nokon nokor nokre nå når og også om opp oss over på samme seg selv si sia sidan siden sin sine sitt
        sjøl skal skulle slik so som somme somt så sånn til um upp ut uten var vart varte ved vere verte vi vil ville
        vore vors vort vår være vært å""",
    "finnish": """ei eivät emme en et ette että he heidän heidät heihin heille heillä heiltä heissä heistä heitä hän häneen hänen
        hänet häntä itse ja johon joiden joihin joiksi joilla joille joilta joina joissa joista joita joka joksi jolla
        jolle jolta jona jonka jos jossa josta jota jotka kanssa keiden keihin keiksi keille keillä keiltä keinä keissä
        keistä keitä keneen keneksi kenelle kenen kenenä kenet ketkä ketä koska kuin kuinka kuka kun me meidän meidät
        meihin meille meillä meiltä meissä meistä meitä mihin miksi mikä mille milloin millä miltä minkä minua minulla
        minulle minulta minun minussa minusta minut minuun minä missä mistä miten mitkä mitä mukaan mutta myös ne niiden
        niihin niiksi niille niillä niiltä niin niinä niissä niistä niitä noiden noihin noiksi noilla noille noilta noin
        noina noissa noista noita nuo nyt näiden näihin näiksi näille näinä näitä nämä ole olemme olen olet olette oli
        olimme olin olisi olisin olisit olit olitte olivat olla olleet ollut on ovat poikki se sekä sen siihen siinä
        siitä siksi sille sillä siltä sinua sinulla sinulle sinulta sinun sinussa sinusta sinut sinuun sinä sitä tai te
        teidän teidät teihin teille teillä teiltä teissä teistä teitä tuo tuohon tuoksi tuolla tuolle tuolta tuon tuona
        tuossa tuosta tuota tähän täksi tälle tällä tältä tämä tämän tänä tässä tästä tätä vaan vai vaikka yli""",
    "hungarian": """a abban ahhoz ahogy ahol aki akik akkor alatt amely amelyek amelyet ami amikor amit amolyan amíg annak arra
        arról az azok azon azonban azt aztán azután azzal azért be belül benne bár cikk cikkek csak de e ebben eddig egy
        egyes egyik egyre egyéb egész ehhez ekkor el ellen első elég elő emilyen ennek erre ez ezek ezen ezt ezzel ezért
        fel felé hanem hiszen hogy hogyan hol honnan hová hány igen ill illetve ilyen ismét ison itt jobban jó jól kell
        kellett ki kívül közül legyen lehet lenne lenni lesz lett maga magát majd meg mellett mely melyek mert mi mikor
        milyen minden mindent mindig mint mintha mit mivel miért most már más másik még míg nagy nagyobb nagyon ne nekem
        neki nem nincs néha olyan ott pedig persze rá s saját sem semmi sok sokat sokkal szemben szerint szinte talán
        tehát teljes tovább több ugyanis utolsó után utána vagy vagyis vagyok valaki valami való van vannak vele vissza
        viszont volna volt voltak voltam voltunk által át én éppen és így össze úgy új újabb újra ő ők""",
    "romanian": """această acest aceste acestea acolo ai aici al ale am are atunci au avea ca care ce cei cel cele cine cu cum când
        cât câte că dacă dar de deci decât din doar după ea ei ele era este eu fi fie fiind foarte fost fără iar la le
        lor lui mai mea meu mi mult nici noi nostru nu o ori pe pentru peste prin până sa sau se si spre sub sunt sus să
        său te toate tot toți tu un una unde unei unor unui va voi vom vor vă îi îl îmi în înainte însă într între își
        și""",
    "turkish": """acaba ama ancak bana bazı belki ben beni benim bir biri birkaç biz bize bizi bizim bu buna bunda bundan bunu
        bunun da daha de defa değil diye en gibi hangi hem hep hepsi her hiç iki ile ise için kadar kez ki kim kimi mi
        mu mü mı nasıl ne neden nerede nereye niye niçin o olan olarak olduğu ona ondan onlar onu onun sanki siz sizin
        sonra tüm var ve veya ya yani yok çok çünkü üzere şey şu""",
    "russian": """а без более больше будет будто бы был была были было быть в вам вас вдруг ведь во вот впрочем все всегда всего
        всех всю вы где говорил да даже два для до другой его ее ей ему если есть еще ж же жизнь за зачем здесь и из или
        им иногда их к кажется как какая какой когда конечно кто куда ли лучше между меня мне много может можно мой моя
        мы на над надо наконец нас не него нее ней нельзя нет ни нибудь никогда ним них ничего но ну о об один он она
        они опять от перед по под после потом потому почти при про раз разве с сам свою себе себя сегодня сейчас сказал
        сказала сказать со совсем так такой там тебя тем теперь то тогда того тоже только том тот три тут ты у уж уже
        хорошо хоть чего человек чем через что чтоб чтобы чуть эти этого этой этом этот эту я""",
    "greek": """ένα ένας έχει έχουν ή αλλά αν από αυτά αυτή αυτό αυτός αυτών για δεν είναι ενώ η θα κάθε και κατά κι μία μα μας
        με μετά μη μην μια μου μόνο να ο οι πιο ποια ποιο ποιος πολύ που πού πρέπει πριν προς πώς σαν σας σε στα στη
        στην στις στο στον στους τα τη την της τι τις το τον του τους των χωρίς ως όπως όταν ότι όχι""",
    "arabic": """أن أو أين إذا إلى التي الذي الى ان انه بعد بين تم ثم حتى حيث على عن عند غير في قبل قد كان كانت كل كما كيف لا لم
        لن ليس ما متى مع من منذ نحن هذا هذه هل هو هي و وقد ولا""",
}
"""By language, the most spoken first: of equal evidence the first one is taken."""
LANGUAGES: Final = (ENGLISH, *_FUNCTION_WORDS)
_AMBIGUOUS: Final = frozenset(
    re.findall(
        r"\S+",
        """ad ai al alt art bare ben bin care ci col com come comment cos da del des dies dig dir dog dit do don ed end fi fin
        fora fort ge ha ham hat heb ho hot hut id ins io let li lo mal man men met mi min mine mod mon na ne non num op
        os out par pas per plus pot sans si sig sin sit sole son sore su sub ta ti til till todo todos ton tue uno
        van var vars ve via vi want war ya""",
    )
)
"""Also words of English, of code or names: they are stop words of their language, and tell nothing."""
_ELISIONS: Final = {
    "french": r"(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)",
    "italian": r"(?:[cdlmnstv]|un|gl|all|dall|dell|nell|sull|coll|quell|quest|bell|sant)",
}


@functools.cache
def stemmer(language: str) -> Callable[[str], list[str]]:
    """Return the function from words joined by white space to their stems."""
    import tantivy  # loaded with the first word: opening a vault needs none

    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(tantivy.Filter.stemmer(language))
    return builder.build().analyze


@functools.cache
def elision(language: str) -> re.Pattern[str] | None:
    """Return the pattern of elided words, as in "l'eau"; None for none."""
    found = _ELISIONS.get(language)
    return re.compile(rf"{found}[{APOSTROPHES}](?=\w\w)", re.IGNORECASE) if found else None


@functools.cache
def function_words(language: str) -> frozenset[str]:
    """Return the function words of a language but English, in small letters."""
    return frozenset(_FUNCTION_WORDS[language].split())


@functools.cache
def language_bits() -> dict[str, int]:
    """Return the languages that each word speaks for, bits in the order of `LANGUAGES`."""
    from lamina_engine.index.analysis import STOP_WORDS

    bits = {word: 1 for word in STOP_WORDS if 1 < len(word) <= _SHORT}
    for bit, language in enumerate(LANGUAGES[1:], 1):
        for word in function_words(language) - _AMBIGUOUS:
            if 1 < len(word.encode()) <= _SHORT:
                bits[word] = bits.get(word, 0) | 1 << bit
    long = {word: found | (_THREE if len(word.encode()) > 2 else 0) for word, found in bits.items()}
    return {form: found for word, found in long.items() for form in (word, word.capitalize())}


@functools.cache
def _keyed_bits() -> tuple[I64, U32]:
    by_key = {int.from_bytes(word.encode(), "little"): bits for word, bits in language_bits().items()}
    keys = np.array(sorted(by_key), np.int64)
    return keys, np.array([by_key[key] for key in keys.tolist()], np.uint32)


def bits_of_keys(keys: I64) -> U32:
    """Return the `language_bits` of pieces by their keys, 0 for most."""
    known, bits = _keyed_bits()
    at = np.minimum(np.searchsorted(known, keys), known.size - 1)
    return np.where(known[at] == keys, bits[at], np.uint32(0)).astype(np.uint32)


class _Tally(NamedTuple):
    """Function words of rows, counted by language."""

    own: I64
    """Those that English lacks, int64 (n, languages)."""
    english: I64
    """Those of English that the language lacks, int64 (n, languages)."""
    different: I64
    """Distinct ones that English lacks, int64 (n,)."""
    long: I64
    """Those of three letters or more, int64 (n,)."""


def foreign_rows(numbers: I32 | I64, stops: I64, bits: U32, doubtful: BOOL | None = None) -> U8:
    """Return the language of each row, uint8 (n,), as its place in `LANGUAGES`: mostly 0.

    Parameters
    ----------
    numbers : int (m,)
        Pieces of all texts: the bodies of n rows, then their headers, then their contexts.
    stops : int64 (3 n,)
        Where the pieces of each text end.
    bits : uint32 (p,)
        `language_bits` of each piece.
    doubtful : bool (n,), optional
        Rows with a word that English lacks; looked for otherwise.
    """
    n = stops.size // _ZONES
    found = np.zeros(n, np.uint8)
    # rows without a word that English lacks are English; of the others all function words are counted
    undecided = _doubtful_rows(numbers, stops, bits) if doubtful is None else doubtful
    rows = np.flatnonzero(undecided)
    if not rows.size:
        return found
    sizes = np.diff(stops, prepend=0)
    texts = (np.arange(_ZONES)[:, None] * n + rows).ravel()
    lengths = sizes[texts]
    at = np.arange(lengths.sum()) + np.repeat(stops[texts] - np.cumsum(lengths), lengths)
    telling = bits[numbers[at]]
    kept = np.flatnonzero(telling)
    pieces, telling, of_text = numbers[at[kept]], telling[kept], np.repeat(texts, lengths)[kept]
    of_row, zone = of_text % n, of_text // n
    sizes = sizes.reshape(_ZONES, n)
    for last in range(_ZONES):
        seen = (zone <= last) & undecided[of_row]
        if not seen.any():
            continue
        tally = _tally(of_row[seen], telling[seen], pieces[seen], n)
        best, decided = _decide(tally, sizes[: last + 1].sum(axis=0))
        found[undecided & decided] = best[undecided & decided]
        undecided = undecided & ~decided
    return found


def _doubtful_rows(numbers: I32 | I64, stops: I64, bits: U32) -> BOOL:
    """Return the rows that `lamina_kernels.counting.mark_foreign` marks."""
    telling = bits[numbers]
    at = np.flatnonzero(telling > 1)
    at = at[(telling[at] & 1) == 0]
    marked = np.zeros(stops.size // _ZONES, np.bool_)
    marked[np.searchsorted(stops, at, side="right") % max(marked.size, 1)] = True
    return marked


def _tally(rows: I64, bits: U32, numbers: I32 | I64, n: int) -> _Tally:
    table = (bits[:, None] >> np.arange(len(LANGUAGES), dtype=np.uint32)) & np.uint32(1)
    cells = rows[:, None] * len(LANGUAGES) + np.arange(len(LANGUAGES))
    english = table[:, :1]

    def count(chosen: U32) -> I64:
        counts: I64 = np.bincount(cells[chosen != 0], minlength=n * len(LANGUAGES)).reshape(n, -1)
        return counts

    foreign = english[:, 0] == 0
    pairs = np.unique(np.column_stack([rows[foreign], numbers[foreign]]), axis=0)
    long = rows[foreign & (bits >= _THREE)]
    return _Tally(
        count(table & (1 - english)),
        count((1 - table) & english),
        np.bincount(pairs[:, 0], minlength=n),
        np.bincount(long, minlength=n),
    )


def _decide(tally: _Tally, pieces: I64) -> tuple[U8, BOOL]:
    """Return the language of each row, and where that is decided."""
    best = np.argmax(tally.own, axis=1)
    row = np.arange(best.size)
    own, english = tally.own[row, best], tally.english[row, best]
    enough = (tally.different > 1) | ((pieces <= _FEW_PIECES) & (tally.long > 0))
    is_foreign = (own > english) & enough
    decided = is_foreign | ((english > 0) & (english >= own))
    return np.where(is_foreign, best, 0).astype(np.uint8), decided


def language_of(pieces: list[str], among: tuple[str, ...] = LANGUAGES) -> str:
    """Return the language of a short text, among some, by its function words."""
    found = [bits for bits in map(language_bits().get, pieces) if bits]
    if all(bits & 1 for bits in found):  # no word that English lacks
        return ENGLISH
    tallies = Counter(found).items()  # a text repeats its few function words
    counts = {
        language: sum(count for bits, count in tallies if bits >> LANGUAGES.index(language) & ~bits & 1)
        for language in among
        if language != ENGLISH
    }
    best = max(counts, key=lambda language: counts[language], default=ENGLISH)
    if not counts or not counts[best]:
        return ENGLISH
    place = LANGUAGES.index(best)
    return best if counts[best] > sum(count for bits, count in tallies if bits & ~(bits >> place) & 1) else ENGLISH
