"""Languages of texts: told by function words, the same in bulk and alone; English stays as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.index import terms as terms_module
from lamina_engine.index.analysis import Analyzer, language_mark
from lamina_engine.index.languages import LANGUAGES, elision, foreign_rows, function_words, language_of, stemmer
from lamina_engine.index.tables import Tables
from lamina_engine.index.terms import build_term_rows
from lamina_engine.index.view import View
from lamina_kernels.counting import mark_foreign
from lamina_kernels.layouts import TermRows
from tests.conftest import NOW

TEXTS = {
    "english": "The houses of the old town were built before the war, and nobody knows by whom.",
    "german": "Die Häuser der Altstadt wurden vor dem Krieg gebaut, und niemand weiß, von wem.",
    "french": "Les maisons de la vieille ville ont été construites avant la guerre, et on ne sait pas par qui.",
    "spanish": "Las casas del casco antiguo fueron construidas antes de la guerra, y no se sabe por quién.",
    "italian": "Le case della città vecchia sono state costruite prima della guerra, e non si sa da chi.",
    "portuguese": "As casas da cidade velha foram construídas antes da guerra, e não se sabe por quem.",
    "dutch": "De huizen van de oude stad werden voor de oorlog gebouwd, en niemand weet door wie.",
    "danish": "Husene i den gamle by blev bygget før krigen, og der er ikke nogen, som ved af hvem.",
    "swedish": "Husen i den gamla staden byggdes före kriget, och ingen vet av vem de är byggda.",
    "norwegian": "Husene i gamlebyen ble bygd før krigen, og ingen vet hvem som bygde dem eller hvorfor.",
    "finnish": "Vanhan kaupungin talot on rakennettu ennen sotaa, mutta kukaan ei tiedä, kuka ne teki ja miksi.",
    "hungarian": "Az óváros házai a háború előtt épültek, és senki nem tudja, hogy ki építette őket.",
    "romanian": "Casele din orașul vechi au fost construite înainte de război și nu se știe de către cine sunt.",
    "turkish": "Eski şehirdeki evler savaştan önce yapıldı ve bunu kimin yaptığı çok iyi bilinmiyor ama olsun.",
    "russian": "Дома старого города были построены до войны, и никто не знает, кем они построены.",
    "greek": "Τα σπίτια της παλιάς πόλης χτίστηκαν πριν από τον πόλεμο και δεν ξέρουμε από ποιον.",
    "arabic": "تم بناء بيوت المدينة القديمة قبل الحرب و لا أحد يعرف من قام بذلك",
}


def rows_of(texts: list[str], headers: list[str] | None = None, contexts: list[str] | None = None) -> TermRows:
    empty = [""] * len(texts)
    return build_term_rows(texts, headers or empty, contexts or empty)


def languages_of(rows: TermRows) -> list[str]:
    found = []
    for row in range(len(rows.lengths)):
        hashes = rows.hashes[rows.indptr[row] : rows.indptr[row + 1]].tolist()
        found.append(next((name for name in LANGUAGES[1:] if language_mark(name) in hashes), "english"))
    return found


def test_rows_whose_doubtful_ones_are_known_get_the_same_languages() -> None:
    random = np.random.default_rng(7)
    bits = np.array([0, 0, 0, 1, 1, 2, 4, 6, 3, 1 << 31 | 2, 1 << 31 | 8], np.uint32)
    for n in (0, 1, 40):
        sizes = random.integers(0, 9, 3 * n)
        numbers = random.integers(0, bits.size, sizes.sum()).astype(np.int32)
        stops = np.cumsum(sizes)
        doubtful = np.empty(n, np.bool_)
        mark_foreign(numbers, stops, bits, doubtful)
        ref = foreign_rows(numbers, stops, bits)
        assert foreign_rows(numbers, stops, bits, doubtful).tolist() == ref.tolist()
        assert n < 40 or len(set(ref.tolist())) > 2


def test_each_language_is_told_and_stemmed() -> None:
    assert set(TEXTS) == set(LANGUAGES)
    assert languages_of(rows_of(list(TEXTS.values()))) == list(TEXTS)
    for language in LANGUAGES:
        assert stemmer(language)(TEXTS[language])
        assert language_of(TEXTS[language].split()) == language


def test_bulk_and_alone_give_the_same_rows() -> None:
    texts = [*TEXTS.values(), "Wo ist der Hund?", "git log --oneline", "de la", "C'est l'eau de l'été"] * 30
    headers = [f"Note {i}" if i % 3 else "Über die Arbeit" for i in range(len(texts))]
    whole = rows_of(texts, headers)
    alone = [rows_of([text], [head]) for text, head in zip(texts, headers, strict=True)]
    joined = terms_module.concat_terms(alone)
    for left, right in zip(whole, joined, strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize(
    "text",
    [
        "The process will die, men come, and a comment ends.",
        "Rue de la Paix is where we met for lunch with the team.",
        "os.path.join(dir, name); const el = document.querySelector(id)",
        "```bash\n$ git log --pretty=format:%ad --date=short\n```",
        "[source](https://dev.mysql.com/doc/refman/8.0/en/commit.html)",
        "Ah ha ha, yeah, JUST DOING IT!",
        "He said: Wo ist der Hund? and we all laughed about it for a while.",
        "",
    ],
)
def test_english_code_and_addresses_stay_english(text: str) -> None:
    assert languages_of(rows_of([text])) == ["english"]


def test_what_stands_around_a_short_text_tells_its_language() -> None:
    texts = ["Sicherungen nachts", "Sicherungen nachts", "Nightly copies"]
    headers = ["", "Betrieb der Server", "Betrieb"]
    contexts = ["Das Kennwort ist unter der Schublade, und es gilt noch.", "", "The password is below the drawer."]
    assert languages_of(rows_of(texts, headers, contexts)) == ["german", "german", "english"]


def test_stems_keep_the_accents_that_their_rules_ask_for() -> None:
    analyzer = Analyzer().of("spanish")
    assert [term.stem for term in analyzer.tokens("información informaciones")] == ["inform", "inform"]
    german = Analyzer().of("german")
    assert {term.stem for term in german.tokens("Haus Häuser Hauses Häusern")} == {"haus"}
    assert [term.surface for term in german.tokens("Häuser")] == [term.surface for term in Analyzer().tokens("Häuser")]


def test_elided_words_are_left_out() -> None:
    assert elision("german") is None
    french, italian = Analyzer().of("french"), Analyzer().of("italian")
    assert [term.surface for term in french.tokens("l'eau qu’il d'Arles aujourd'hui")][:3] == ["eau", "il", "arles"]
    assert [term.surface for term in italian.tokens("dell'acqua un'idea")] == ["acqua", "idea"]


def test_function_words_are_small_letters() -> None:
    for language in LANGUAGES[1:]:
        assert all(word == word.lower() for word in function_words(language))


NOTES = {  # made up for this test
    "german": [
        ("Die Häuser am Hafen wurden verkauft.", "Welches Haus am Hafen hat man verkauft?"),
        ("Der Arzt verschrieb neue Tabletten gegen Kopfschmerzen.", "welche Tablette verschrieben Ärzte?"),
        ("Unsere Nachbarn haben den Zaun gestrichen.", "Wer streicht Zäune bei dem Nachbarn?"),
        ("Die Prüfungen finden in der Turnhalle statt.", "Wo ist die Prüfung?"),
    ],
    "french": [
        ("Les chevaux de la ferme ont été vendus.", "Quand la ferme vend-elle un cheval ?"),
        ("L'ouverture des fenêtres déclenche une alarme.", "alarmes de la fenêtre ouverte"),
        ("Nous réparons les vélos chez le voisin.", "Quel voisin répare le vélo ?"),
        ("La réunion porte sur les décisions prises en mars.", "quelle décision a été prise"),
    ],
    "spanish": [
        ("Los niños perdieron las llaves del garaje.", "¿Quién perdió la llave de los garajes?"),
        ("La reparación del tejado costó mucho.", "reparaciones de los tejados"),
        ("Mis hermanas viven en ciudades pequeñas.", "¿En qué ciudad pequeña vive mi hermana?"),
        ("El médico cambió las medicinas del abuelo.", "medicina que cambian los medicos"),
    ],
}


@pytest.fixture
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    vault = lamina.open(tmp_path_factory.mktemp("vault") / "v", create=True, embedder="none")
    vault.add([{"text": "The harbour office sells old boats.", "id": "english"}])
    for language, pairs in NOTES.items():
        vault.add([{"text": note, "id": f"{language}{i}"} for i, (note, _) in enumerate(pairs)])
    return vault


def test_other_inflections_find_the_note(vault: Vault) -> None:
    for language, pairs in NOTES.items():
        for i, (_, question) in enumerate(pairs):
            assert [hit.id for hit in vault.recall(question, 1)] == [f"{language}{i}"], question
    assert [hit.id for hit in vault.recall("who is selling a boat at the harbours", 1)] == ["english"]


def test_a_word_counts_once_whatever_languages_the_vault_holds(vault: Vault) -> None:
    for hit in vault.recall("Häuser am Hafen verkaufen"):
        assert 0.0 < hit.terms["coverage"] <= 1.0
    alone = vault.recall("Häuser", 1)[0]
    assert list(alone.terms["words"]) == ["haus", '"hauser"']


def test_a_required_word_is_asked_in_all_languages(vault: Vault) -> None:
    assert {hit.id for hit in vault.recall("+Haus", syntax=True)} == {"german0"}
    assert {hit.id for hit in vault.recall("+boat", syntax=True)} == {"english"}


def test_a_snippet_marks_words_in_their_language(vault: Vault) -> None:
    hits = vault.recall("Haus", 1)
    assert "Häuser" in str(hits.snippet(hits[0]))


def test_a_past_moment_knows_only_the_languages_of_its_rows(tmp_path: Path) -> None:
    clock = FixedClock(NOW)
    with lamina.open(tmp_path / "v", create=True, clock=clock, embedder="none") as vault:
        vault.add([{"text": "The cat is on the mat.", "id": "cat"}])
        before = clock.now_us()
        clock.advance(3_600)
        vault.add([{"text": "Die Katze ist auf der Matte.", "id": "katze"}])
        view = vault._memory.view()
        assert view.languages == ("german",)
        assert View(view.snapshot, view.tables, as_of_us=before).languages == ()
        fresh = View(view.snapshot, Tables(view.tables.folder))
        assert fresh.languages == ("german",)
