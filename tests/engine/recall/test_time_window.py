from __future__ import annotations

from pathlib import Path

import pytest

import lamina
from lamina import FixedClock, InvalidArgument, InvalidConfig, Vault
from lamina_engine.profiles import Profiles
from lamina_engine.recall.explain import recompute

NOW = "2026-08-12T14:30:00Z"
"""A Wednesday."""


@pytest.fixture(scope="module")
def diary(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    """A year of notes, one a week, all alike but for their dates, and a migration."""
    path = tmp_path_factory.mktemp("diary") / "vault"
    vault = lamina.open(path, create=True, clock=FixedClock(NOW), embedder="none")
    vault.add(
        [
            {
                "id": f"w{week:02}",
                "text": f"cache meeting notes, number {week}",
                "created_at": f"2026-{1 + week // 4:02}-{1 + 7 * (week % 4):02}",
            }
            for week in range(28)
        ]
    )
    vault.add(
        [{"id": "migration", "text": "The database migration to the new cluster is done.", "created_at": "2026-04-10"}]
    )
    return vault


def ids(vault: Vault, query: str, **options: object) -> list[str]:
    return [hit.id for hit in vault.recall(query, **options)]  # type: ignore[arg-type]


def test_what_lies_in_the_time_that_is_meant_comes_first(diary: Vault) -> None:
    got = ids(diary, "cache meeting notes in March 2026", k=4)
    assert set(got) == {"w08", "w09", "w10", "w11"}
    assert set(ids(diary, "cache meeting notes", k=4)) != set(got)


def test_scores_are_recomputed_from_their_terms(diary: Vault) -> None:
    for query in ("cache meeting notes in March 2026", "cache meeting notes before the migration", "cache meeting"):
        for profile in ("default", "temporal"):
            for hit in diary.recall(query, 30, profile=profile):
                assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-9)
                assert ("time" in hit.terms) == (query != "cache meeting")


def test_ages_count_to_the_end_of_the_past_that_is_meant(diary: Vault) -> None:
    hits = {
        hit.id: hit.terms
        for hit in diary.recall("cache meeting notes in March 2026", 30, profile="temporal", time="prefer")
    }
    assert hits["w11"]["age_days"] == 10.0  # from March 22 to the end of March
    assert hits["w20"]["age_days"] == 0.0
    plain = {hit.id: hit.terms for hit in diary.recall("cache meeting notes", 30, profile="temporal")}
    assert plain["w11"]["age_days"] > 140


def test_the_preference_fades_seven_days_before_and_fourteen_after(diary: Vault) -> None:
    hits = {hit.id: hit for hit in diary.recall("cache meeting notes on 2026-03-08", 30)}
    weight = 0.1 * 0.98

    def factor(name: str) -> float:
        terms = hits[name].terms
        return float(hits[name].score / (terms["factor"] * terms["semantic"]))

    assert factor("w09") == pytest.approx(1.0)  # the day itself
    assert factor("w10") == pytest.approx(1.0 - weight * 6 / 14, abs=1e-9)  # six days after its end
    assert factor("w08") == pytest.approx(1.0 - weight, abs=1e-9)  # seven days before
    assert factor("w11") == pytest.approx(1.0 - weight * 13 / 14, abs=1e-9)
    assert factor("w20") == pytest.approx(1.0 - weight)


@pytest.mark.parametrize(
    ("phrase", "found"),
    [
        ("what did I write two months ago", {"w20", "w21", "w22", "w23"}),
        ("about a month ago", {"w24", "w25", "w26", "w27"}),
        ("vor zwei Monaten", {"w20", "w21", "w22", "w23"}),
        ("il y a deux mois", {"w20", "w21", "w22", "w23"}),
        ("three weeks ago", {"w27"}),
        ("half a year ago", {"w04", "w05", "w06", "w07"}),
        ("what did I write 22 days ago", set()),
    ],
)
def test_who_counts_in_weeks_or_months_means_about_then(diary: Vault, phrase: str, found: set[str]) -> None:
    assert set(ids(diary, phrase, k=20)) == found


def test_an_event_of_the_vault_bounds_the_time(diary: Vault) -> None:
    before, after = (ids(diary, f"cache meeting notes {word} the migration", k=8) for word in ("before", "after"))
    assert set(before) - {"migration"} <= {f"w{week:02}" for week in range(14)}
    assert set(after) - {"migration"} <= {f"w{week:02}" for week in range(14, 28)}
    hits = diary.recall("cache meeting notes before the migration", 3)
    assert hits.explain()["time"]["event"] == "migration"
    assert hits.explain()["time"]["until"] == "2026-04-10T00:00:00Z"


def test_an_event_that_is_not_there_changes_nothing(diary: Vault) -> None:
    assert "time" not in diary.recall("cache notes before the coronation", 3).explain()


def test_what_the_caller_says_of_time_wins(diary: Vault) -> None:
    hits = diary.recall("cache meeting notes in March 2026", 5, since="2026-05-01")
    assert "time" not in hits.explain()
    assert {str(hit.to_dict()["created_at"])[:7] for hit in hits if hit.created_at} <= {"2026-05", "2026-06", "2026-07"}
    assert "time" not in diary.recall("cache meeting notes in March 2026", 5, time="off").explain()


def test_a_filter_leaves_what_lies_inside_and_never_fewer_than_k(diary: Vault) -> None:
    march = {"w08", "w09", "w10", "w11"}
    asked = ids(diary, "cache meeting notes in March 2026", k=3, time="filter")
    assert len(asked) == 3
    assert set(asked) <= march
    more = ids(diary, "cache meeting notes in March 2026", k=10, time="filter")
    assert len(more) == 10
    assert set(more[:4]) == march
    assert set(ids(diary, "cache meeting notes in March 2026", k=4, profile="temporal@1")) == march
    assert diary.recall("cache meeting in March 2026", 4, profile="temporal@1").explain()["time"]["filter"]
    assert not diary.recall("cache meeting last week", 4).explain()["time"]["filter"]


def test_other_profiles_read_no_time_unless_asked(diary: Vault) -> None:
    assert "time" not in diary.recall("cache meeting in March 2026", 4, profile="lexical").explain()
    assert "time" in diary.recall("cache meeting in March 2026", 4, profile="lexical", time="filter").explain()


def test_a_profile_of_the_vault_says_how_much_time_counts() -> None:
    got = Profiles({"mine": {"base": "default", "time": {"weight": 0.5, "after_days": 30}}}).get("mine").time
    assert (got.weight, got.before_days, got.after_days, got.filter_confidence) == (0.5, 7.0, 30.0, None)
    with pytest.raises(InvalidConfig, match="weight"):
        Profiles({"mine": {"base": "default", "time": {"weight": 2}}})


def test_a_mode_is_one_of_three(diary: Vault) -> None:
    with pytest.raises(InvalidArgument, match="prefer, filter, off"):
        diary.recall("cache", time="sometimes")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["cache meeting", "in 2000 tokens, python 3.11", "may I ask a question", "v2.0.6 of src/2026/notes.md"]
)
def test_where_no_time_is_meant_nothing_changes_to_the_byte(diary: Vault, text: str) -> None:
    ref, got = (diary.recall(text, 10, time=mode) for mode in ("off", None))
    assert [(hit.id, hit.score, hit.terms) for hit in got] == [(hit.id, hit.score, hit.terms) for hit in ref]
    assert got.explain() == ref.explain()


# ---------------------------------------------------------------- a question with nothing but a time in it


@pytest.mark.parametrize("query", ["March 2026", "what did I write in March 2026?", "what happened in March 2026"])
def test_a_question_with_nothing_but_a_time_is_answered_by_what_is_from_then(diary: Vault, query: str) -> None:
    hits = diary.recall(query, 30)
    assert [hit.id for hit in hits] == ["w11", "w10", "w09", "w08"]  # newest first
    assert hits.read_as == hits.explain()["time"]["read_as"] == "2026-03-01 to 2026-04-01"
    for hit in hits:
        assert (hit.via, hit.terms["by_time"], hit.terms["semantic"]) == ("time", True, 1.0)
        assert recompute(hit.terms) == pytest.approx(hit.score, abs=1e-9)
    assert [hit.id for hit in diary.recall(query, 2)] == ["w11", "w10"]


QUESTIONS = (
    "what did I write last month?", "What changed last month", "anything new from last month", "notes from last month",
    "was habe ich letzten Monat geschrieben", "qu'ai-je écrit le mois dernier ?", "¿qué hice el mes pasado?",
    "O que eu fiz no mês passado?", "cosa ho scritto il mese scorso", "wat heb ik vorige maand gedaan",
    "что я делал в прошлом месяце", "co robiłem w zeszłym miesiącu", "vad gjorde jag förra månaden", "temmuz 2026 ne yaptık", "geçen ay ne yaptım",
    "上个月我做了什么", "先月何をしましたか", "지난달에 뭐 했어",
)  # fmt: skip


@pytest.mark.parametrize("query", QUESTIONS)
def test_such_a_question_filters_in_every_language_that_times_are_read_in(diary: Vault, query: str) -> None:
    # findings, stranger 10
    hits = diary.recall(query, 30)
    assert [hit.id for hit in hits] == ["w27", "w26", "w25", "w24"]
    assert hits.read_as == "2026-07-01 to 2026-08-01"


@pytest.mark.parametrize(
    "profile", ["default", "lexical", "temporal", "temporal@1", "task", "causal", "episodic", "entity"]
)
def test_such_a_question_filters_in_every_profile_and_says_so(diary: Vault, profile: str) -> None:
    hits = diary.recall("what did I write last month?", 30, profile=profile)
    assert {hit.id for hit in hits} == {"w24", "w25", "w26", "w27"}
    assert hits.to_dict()["time"]["read_as"] == "2026-07-01 to 2026-08-01"  # type: ignore[index, call-overload]
    assert all(recompute(hit.terms) == pytest.approx(hit.score, abs=1e-9) for hit in hits)


def test_all_of_a_page_is_from_then(tmp_path: Path) -> None:
    page = "".join(
        f"## Day {i}\n\n" + f"On this day the {i}th thing was written down at length. " * 20 + "\n\n" for i in range(6)
    )
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "2026-07-10-diary.md").write_text(f"# Diary\n\n{page}")
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW), embedder="none") as vault:
        vault.ingest(folder)
        count = vault.stats()["chunks"]
        assert count > 2
        assert len(vault.recall("what did I write last month?", 20)) == count


def test_a_time_without_a_note_of_it_has_no_answer_and_says_so(diary: Vault) -> None:
    hits = diary.recall("what did I write yesterday?", tz="America/New_York")
    assert (list(hits), hits.read_as) == ([], "2026-08-11 to 2026-08-12")


# ---------------------------------------------------------------- a question for what was written then


@pytest.mark.parametrize(
    "query",
    [
        "what did I write about the migration in March 2026?", "what have we decided on migrations in March 2026",
        "did I note anything about migration in March 2026", "migration notes from March 2026", "in March 2026, what did we learn about the migration?",
        "was habe ich im März 2026 über migration geschrieben?", "qu'ai-je écrit sur la migration en mars 2026 ?",
        "¿qué escribí sobre migration en marzo de 2026?", "cosa ho scritto sulla migration a marzo 2026?",
        "o que escrevi sobre migration em março de 2026?", "wat heb ik in maart 2026 over migration geschreven?",
    ],
)  # fmt: skip
def test_what_was_written_then_comes_before_what_matches_better(tmp_path: Path, query: str) -> None:
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as vault:
        vault.add(
            "Migration, month by month: what was written in March, and what we learn.",
            id="other",
            created_at="2025-11-02",
        )
        vault.add("The migration waits for a copy of the orders.", id="then", created_at="2026-03-10")
        vault.add("Lunch is at noon.", id="lunch", created_at="2026-03-11")
        hits = vault.recall(query, 3)
        assert hits[0].id == "then"
        assert hits.explain()["time"]["filter"]
        assert not vault.recall(query, 3, time="prefer").explain()["time"]["filter"]


def test_where_nothing_was_written_then_the_nearest_is_no_answer(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as vault:
        vault.add("The migration waits for a copy of the orders.", id="then", created_at="2026-03-10")
        hits = vault.recall("what did I write about the migration last month?")
        assert ([hit.id for hit in hits], hits.confidence) == (["then"], 0.0)


@pytest.mark.parametrize(
    "query", ["war in March", "the March release", "what did Grace do last month", "cache last month",
              "what did Grace write about caches in March 2026", "customers added in 2019", "notes about the cache of late"],
)  # fmt: skip
def test_a_question_that_names_something_is_no_question_of_time_alone(diary: Vault, query: str) -> None:
    time = diary.recall(query, 30).explain().get("time")
    assert time is None or not time["filter"]


@pytest.mark.parametrize("query", ["When does week 44 start?", "wann beginnt die Woche 44?", "when is week 44"])
def test_when_a_time_is_asks_for_what_names_it(tmp_path: Path, query: str) -> None:
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW)) as vault:
        vault.add(
            "| Week 44 | 26 October | Ilse |\n| Woche 45 | 2 November | Tobias |", id="rota", created_at="2026-03-10"
        )
        assert [hit.id for hit in vault.recall(query)] == ["rota"]


def test_a_question_with_any_other_word_asks_the_lanes(diary: Vault) -> None:
    for query in ("cache in March 2026", "what did Grace write in March 2026"):
        assert all("by_time" not in hit.terms for hit in diary.recall(query, 30))


def test_filters_and_profiles_hold_where_time_alone_decides(diary: Vault) -> None:
    assert ids(diary, "March 2026", where={"id": {"in": ["w09", "w20"]}}) == ["w09"]
    assert ids(diary, "March 2026", k=4, time="filter") == ["w11", "w10", "w09", "w08"]
    for profile in ("temporal", "task", "episodic"):
        hits = diary.recall("March 2026", 30, profile=profile, time="prefer")
        assert {hit.via for hit in hits} == {"time"}
        assert [recompute(hit.terms) for hit in hits] == pytest.approx([hit.score for hit in hits], abs=1e-9)


def test_where_nothing_is_near_the_time_the_lanes_answer(diary: Vault) -> None:
    assert ids(diary, "in 1999") == []
    assert all("by_time" not in hit.terms for hit in diary.recall("notes of 1999"))


def test_words_alone_are_matched_even_where_they_name_a_time(diary: Vault) -> None:
    diary.add("The February report is late.", id="report", created_at="2020-01-01")
    for hits in (diary.recall("February", 30, lanes=["lexical"]), diary.recall("February", 30, profile="lexical")):
        assert "report" in [hit.id for hit in hits]
        assert all("by_time" not in hit.terms for hit in hits)


# ---------------------------------------------------------------- a day that a text names


@pytest.mark.parametrize(
    "query", ["what happened on 7 february 2026", "what happened on 2026-02-07?", "was ist am 7. Februar 2026 passiert"]
)
def test_what_names_the_day_is_found_whatever_its_date(tmp_path: Path, query: str) -> None:
    # a stranger's trial: the postmortem of that day, written three days later, was left out
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW), embedder="none") as vault:
        for id_, text, created in [
            ("dated", "Chat filter: a list of words.", "2026-02-07"),
            ("named", "Sat 7 Feb 18:05-21:40 logins failing.", "2026-02-10"),
            ("digits", "Logins fail, seen on 07.02.2026 by Ann.", "2025-06-01"),
            ("iso", "Ticket 2026-02-07: logins fail.", "2026-05-01"),
            ("german", "Am 7. Februar 2026 ging nichts.", "2026-06-01"),
            ("other-year", "7 February 2024: nothing at all.", "2026-02-12"),
            ("long-ago", "7 Feb: the pump failed.", "2025-03-01"),
            ("other-day", "17 Feb 2026 and 7 March 2026, 2 Feb, version 7.2.2026.1.", "2026-02-11"),
        ]:
            vault.add(text, id=id_, created_at=created)
        hits = vault.recall(query)
        assert {hit.id for hit in hits} == {"dated", "named", "digits", "iso", "german"}
        assert [recompute(hit.terms) for hit in hits] == pytest.approx([hit.score for hit in hits], abs=1e-9)
        assert len({hit.score for hit in hits}) == 1
        assert {hit.id for hit in vault.recall("what happened in february 2026")} == {
            "dated",
            "named",
            "other-day",
            "other-year",
        }


def test_of_very_many_chunks_with_the_words_of_a_day_the_nearest_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # "may" and "3" stood in 61,000 of a million chunks, and each was read: 3 s
    monkeypatch.setattr("lamina_engine.recall.time_window._MOST_READ", 10)
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW), embedder="none") as vault:
        vault.add([{"text": f"It may take 3 days, note {i}.", "created_at": "2020-01-01"} for i in range(50)])
        vault.add("On 3 May the pump failed.", id="named", created_at="2025-05-06")
        assert [hit.id for hit in vault.recall("what happened on 3 may 2025")] == ["named"]


def test_a_field_of_the_frontmatter_names_its_day(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "review.md").write_text("---\ndate: 2026-02-10\nincident: 2026-02-07\n---\n\nLogins fail.\n")
    with lamina.open(tmp_path / "v", create=True, clock=FixedClock(NOW), embedder="none") as vault:
        vault.ingest(tmp_path / "notes")
        assert [hit.source for hit in vault.recall("what happened on 7 february 2026")] == ["review.md"]
        assert not vault.recall("what happened on 8 february 2026")
