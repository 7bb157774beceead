"""Intents: kinds of facts that questions ask for, with the words that show them.

A trigger of an intent is a sequence of whole words; ``*`` stands for one word or more. Nothing is matched inside words:
"support" has no port. The table is data: a vault's owner may give another.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

_GAP: Final = "*"
TOKEN: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|@", re.UNICODE)
_OWNED_BY_S: Final = re.compile(r"(?<=s)'(?=\s)")
_MOST_GAP: Final = 8
"""Words that a gap may stand for."""


class Intent(NamedTuple):
    """Kind of thing that questions ask about, with its trigger words and predicates."""

    name: str
    triggers: tuple[str, ...]
    """Words in lower case, ``*`` for some words between. A trigger with ``!`` before a word does not stand before it."""
    predicates: tuple[str, ...]
    """Predicates whose facts answer it, the thing being the subject."""
    inverse: tuple[str, ...] = ()
    """The same, the thing being the object."""


def _read_table(table: str) -> tuple[Intent, ...]:
    """Return intents written as ``name: trigger, trigger = predicates < inverse``."""
    found = []
    for entry in re.split(r"\n(?! )", table.strip()):
        name, _, rest = entry.partition(":")
        triggers, _, answers = rest.partition("=")
        predicates, _, inverse = answers.partition("<")
        words = (" ".join(trigger.split()) for trigger in triggers.split(","))
        found.append(Intent(name, tuple(words), tuple(predicates.split()), tuple(inverse.split())))
    return tuple(found)


SHIPPED: Final = _read_table("""
birthday: birthday, birth date, birthdate, born !in, date of birth, when was * born, how old = birthday born birth_date birthdate
  date_of_birth dob
phone: phone, telephone, mobile, cell, phone number, number !of, call, contact, reach, reaches, get hold of = phone mobile telephone cell
  phone_number contact
email: email, e mail, mail, email address, mail address, address * @, contact, write to = email mail contact
address: address, live, lives, living, where does * live, location, where is * home, home address, home city, home town, city, town,
  country = address lives_in lives_at home location residence located_in city
birthplace: birthplace, born in, where was * born, place of birth, where * from, come from, comes from, origin, hometown, originally from
  = birthplace born_in from origin place_of_birth hometown
relationship: who is, who's, who was, relationship, related to, relation of = relationship relation relationship_to
partner: partner, wife, husband, girlfriend, boyfriend, spouse, married, married to, fiance, fiancee = partner_of married_to spouse
  partner wife husband spouse_of engaged_to < partner_of married_to spouse_of engaged_to
url: url, website, web site, domain, site, homepage, web address, web page, online, on the web = url website domain site homepage fqdn
stack: stack, tech, tech stack, built with, built on, written in, uses, use, using, framework, frameworks, technology, technologies =
  stack tech tech_stack uses built_with framework written_in language
runs_on: port, ports, runs on, run on, running on, hosted, hosted on, server, listen on, listens on, deployed on, deployed to, which host,
  which machine, hosts, where does * run, where is * running = runs_on port hosted_on server host listens_on deployed_to machine < hosts
role: role, job, job title, what does * do, position, occupation, work as, works as, do for a living, profession, work does * do = role
  job title position occupation profession job_title
full_name: full name, real name, name !of, called, whole name, last name, surname = full_name name real_name surname last_name
""")
"""The rows that the source system ships, mended: whole words only, and partners apart from "who is"."""
ADDED: Final = _read_table("""
status: status, state, stage, progress, how far along, going, finished, done yet, live yet, still active = status state stage phase
timezone: timezone, time zone, time zone * live, timezone * live, what time is it = timezone time_zone tz
version: version, release, which release = version release current_version
schedule: schedule, scheduled, how often, how frequently, cron, when does * run, when do * run, when is * run, what time does, frequency,
  interval, cadence, every how = schedule cron runs_at frequency interval cadence
cost: cost, costs, price, how much, budget, pay for, expensive, fee = cost price budget monthly_cost fee rent
owner: who owns, owner, who maintains, maintainer, who is responsible for, responsible for, who runs, who leads, who heads, who looks
  after, look after, looks after, looking after, in charge of, at the head of, belong to, belongs to, owned by, whose = owner owned_by
  maintainer maintained_by lead led_by responsible pet_of < owns maintains leads responsible_for
author: author, authors, who wrote, written by, writer, writing, developing, develops, builds = author authors written_by writer
  developed_by < wrote
owned: does * own, do * own, did * own, owned = owns < owned_by owner
location: location, where is, where are, where's, located, based, where does * stand, office, which city, situated = location located_in
  based_in lives_in office city place room path file address kept_in stored_in
token: token, api token, access token, api key, key, credential, credentials, secret, password = token api_key api_token credential
  credentials key secret token_location
repository: repo, repository, github, source code, code live = github repo repository source
hardware: hardware, machine, specs = hardware cpu ram memory gpu specs
memory: ram, memory = ram memory
registration: number plate, licence plate, license plate, plate, registration = registration number_plate licence_plate license_plate
  plate car_registration
operating_system: os, operating system = os operating_system
end: run out, runs out, expire, expires, end, ends, until when, valid until, lapse, lapses = ends ends_on closes closing_date end_date
  expires expires_on expiry expiry_date until valid_until
staff: how many people work, employees, staff, headcount, workforce = employees staff headcount workforce
issues: report bugs, report a bug, report issues, issue tracker, bug tracker, file a bug, file bugs = issue_tracker bug_tracker issues
  bugs
fix: fix, fixed, solve, solved, solution, resolve, resolved, resolution, repaired = fix resolved_by solution resolution
cause: cause, caused, why, reason, what led to, what was behind, what happened, what went on, root cause = cause caused_by reason
  root_cause details
purpose: purpose, what for, used for, for what, point of, goal, goals = purpose goal goals used_for description
children: child, children, kids, son, daughter, sons, daughters = parent_of child children son daughter < child_of
parents: parent, parents, mother, father, mom, mum, dad = child_of parent parents mother father < parent_of
siblings: sibling, siblings, brother, sister, brothers, sisters = sibling_of sibling brother sister < sibling_of
friends: friend, friends = friend_of friend friends < friend_of
pets: pet, pets, dog, cat = has_pet pet pets pet_of < pet_of
preference: prefer, prefers, favourite, favorite, preference, preferences, like best, likes, like = prefers favourite favorite preference
  likes
avoids: avoid, avoids, food * avoid, allergic, allergy, allergies, dislike, dislikes, hate, hates = avoids allergy allergies dislikes
depends_on: depend, depends, depend on, depends on, dependency, dependencies, need, needs, require, requires = depends_on requires needs
dependents: what depends on, which * depend on, who depends on = < depends_on requires
users: who uses, what uses, which * use, which * uses, used by = < uses adopted
date: when, date, which day, what day, since when = date started start_date launched launch_date deadline due happened_on released_on
  schedule joined since
length: how long is, how long are, how long was = length duration
duration: how long do, how long does, how long did, how long may, how long must, how much time = duration lifetime ttl validity retention
  period term timeout tenure
height: how tall, how high = height
weight: how heavy, how much does * weigh, weigh, weighs = weight
size: how big, how large = size capacity area dimensions
speed: how fast = speed max_speed
deadline: deadline, due, due date, by when, by when * finished, by when * done, by when * ready, must * finished, must * done, must *
  ready = deadline due due_date
certification: certification, certifications, certificate, certified, licence, license, degree = certification certifications certificate
  licence license degree
manager: boss, manager, supervisor, superior, does * report to, does * answer to, that * reports to, person * reports to, who manages, who
  supervises = manager supervisor boss superior reports_to managed_by line_manager < manages supervises
reports: who reports to, who answers to, direct reports, subordinates = direct_reports manages supervises < manager supervisor boss
  reports_to
contact: negotiates, negotiate with, deals with, deal with, handles the contract, handles the account, talk to = contact contact_person
  account_manager
administrator: administers, administrator, dba, patches, maintains the database = administrator admin dba < administers
salary: salary, pay, paid, earn, earns, income, wage, wages = salary pay wage wages income
start: hired, join, joined, employed since, start working, started working, since when * work, since when * working, start date =
  hire_date hired joined joined_on start_date started employed_since since
seat: sit, sits, seat, desk = seat desk workplace
computer: computer, laptop, notebook = computer laptop notebook workstation
kind: what kind of, what sort of, what type of, which kind of, which type of, category = genre type category kind class species breed
  model
release_date: come out, comes out, came out, release date, released, launch, launches, launched, go live, goes live, went live =
  release_date released released_on launch_date launched launch go_live live_since
teacher: teach, teaches, taught by, teacher, lecturer, professor, instructor, tutor = teacher lecturer professor instructor tutor
  taught_by < teaches
database: database, store * data, stores * data, data stored, data store, persist = database db datastore data_store storage
retention: retention, keep data, keep * data, data kept, how long * kept, how long * stored = retention retention_period kept_for
venue: held, take place, takes place, venue, where is * meeting, shown, hangs, hanging = venue hall room location place
allowed: allowed, permitted, can i bring, can we bring, may i bring = allowed permitted
supplier: supplier, vendor, provider, supplied by, supplying, manufacturer, who makes, made by = supplier vendor provider supplied_by
  manufacturer < supplies
tenant: tenant, who rents, rented by = tenant rented_by < rents
headquarters: headquarters, head office, headquartered, main office = headquarters head_office hq headquartered_in
founded: founded, established, set up, founding = founded established founded_in founding_year
employer: work for, works for, work at, works at, employer, company = works_at works_for employer company < employs
replaced: replace, replaced, instead of, predecessor = replaced
replacement: replaced by, what replaced, successor = replaced_by < replaced
language: language, languages, speak, speaks, mother tongue, native tongue = language languages speaks written_in first_language
  native_language mother_tongue
""")
"""Rows that its users asked for and missed."""
TABLE: Final = SHIPPED + ADDED


class Intents:
    """Table of intents, compiled for matching."""

    def __init__(self, table: Sequence[Intent] = TABLE) -> None:
        self.table = tuple(table)
        self._by_first: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        for place, intent in enumerate(self.table):
            for trigger in intent.triggers:
                words = tuple(trigger.split())
                self._by_first.setdefault(words[0], []).append((words, place))

    def of(self, words: Sequence[str]) -> list[Intent]:
        """Return the intents of a question's words, in the order of the table."""
        return [self.table[place] for place, _ in sorted(self.find_triggers(words).items())]

    def find_triggers(self, words: Sequence[str]) -> dict[int, set[int]]:
        """Return, by row of the table, the positions of its trigger words."""
        found: dict[int, set[int]] = {}
        for at, word in enumerate(words):
            for trigger, place in self._by_first.get(word, ()):
                positions = _match_trigger(trigger, words, at)
                if positions:
                    found.setdefault(place, set()).update(positions)
        return found


@functools.cache
def standard() -> Intents:
    """Return the table that ships with Lamina, compiled once."""
    return Intents()


@functools.cache
def _trigger_words() -> frozenset[str]:
    return frozenset(word for intent in TABLE for trigger in intent.triggers for word in trigger.split())


def is_trigger(word: str) -> bool:
    """Return whether a word is part of a trigger that ships with Lamina."""
    return word in _trigger_words()


def intents_from(rows: Mapping[str, Mapping[str, Iterable[str]]]) -> Intents:
    """Return the shipped table after rows of a configuration; one object for equal rows."""
    if not rows:
        return standard()
    return _compile_intents(
        tuple(
            Intent(
                name,
                tuple(" ".join(words_of(trigger, gaps=True)) for trigger in row.get("triggers", ())),
                tuple(row.get("predicates", ())),
                tuple(row.get("inverse", ())),
            )
            for name, row in rows.items()
        )
    )


@functools.lru_cache(8)
def _compile_intents(own: tuple[Intent, ...]) -> Intents:
    named = {intent.name for intent in own}
    return Intents([*own, *(intent for intent in TABLE if intent.name not in named)])


def words_of(text: str, *, gaps: bool = False) -> list[str]:
    """Return the words of a text in lower case; with ``gaps``, ``*`` and ``!`` too."""
    folded = text.casefold().replace("’", "'")
    if gaps:
        return folded.split()
    return TOKEN.findall(_OWNED_BY_S.sub("'s", folded))


def _match_trigger(trigger: tuple[str, ...], words: Sequence[str], at: int) -> tuple[int, ...]:
    """Return the positions of a trigger that starts at ``at``; empty where it does not match."""
    positions: list[int] = []
    place = at
    for i, token in enumerate(trigger):
        if token.startswith("!"):
            return () if place < len(words) and words[place] == token[1:] else tuple(positions)
        if token == _GAP:
            rest = trigger[i + 1 :]
            for end in range(place + 1, min(place + 1 + _MOST_GAP, len(words))):
                tail = _match_trigger(rest, words, end)
                if tail:
                    return (*positions, *tail)
            return ()
        if place >= len(words) or words[place] != token:
            return ()
        positions.append(place)
        place += 1
    return tuple(positions)


def matches_predicate(intent: Intent, predicate: str, *, inverse: bool) -> bool:
    """Return whether a predicate answers an intent, by its name or a part (``work_phone``)."""
    names = intent.inverse if inverse else intent.predicates
    return predicate in names or any(_contains_words(predicate, name) for name in names)


@functools.lru_cache(1 << 14)
def _contains_words(predicate: str, name: str) -> bool:
    parts, run = predicate.split("_"), name.split("_")
    n = len(run)
    if len(run) == 1 and len(name) < 4:
        return False
    return any(parts[i : i + n] == run for i in range(len(parts) - n + 1))
