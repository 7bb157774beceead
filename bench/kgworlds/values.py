"""Values for the fields of the invented worlds, and sentences that say them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from bench.kgworlds.settings import Setting

SAID_IN_WORDS: Final = 0.7
"""How often a note says in a sentence what a field says too."""

_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "stack": ("Rust and SQLite", "TypeScript with Svelte", "Elixir, Phoenix", "Go and Postgres", "Kotlin plus Ktor", "Python, FastAPI"),
    "status": ("in beta", "on hold until May", "live", "being rewritten", "waiting for review"),
    "features": ("offline mode and exports", "shared calendars", "live maps, push messages", "bulk import", "two-way sync"),
    "role": ("structural engineer", "pastry chef", "site reliability lead", "botanist", "product designer", "tax adviser"),
    "timezone": ("Europe/Oslo", "America/Bogota", "Asia/Tokyo", "Africa/Accra", "Australia/Perth"),
    "purpose": ("finding old tickets", "keeping copies of the archive", "waking people at night", "shipping builds", "counting hours"),
    "workflow": ("draft, review, merge", "collect on Monday, publish on Friday", "tag it, then wait for green"),
    "token": ("in the safe under label seven", "in the shared keyring", "in the ops drawer file", "in the password manager, folder red"),
    "schedule": ("every night at 02:30", "Mondays at 07:00", "every six hours", "on the first of the month", "hourly"),
    "allergy": ("walnuts", "shellfish", "bee stings", "buckwheat"),
    "coffee": ("flat white with oat milk", "double espresso", "cortado, no sugar", "cold brew"),
    "certification": ("scuba rescue diver", "forklift operator", "first aid level three", "radio amateur class A"),
    "languages": ("Norwegian and Spanish", "Dutch, Welsh, English", "Polish and Gaelic", "Tamil and German"),
    "doctor": ("Dr. Imre Castellan", "Dr. Lotte Amsel", "Dr. Bram Nightingale"),
    "size": ("42", "medium", "39 and a half", "44 wide"),
    "music": ("The Copper Kettles", "Saltwater Choir", "Moss and Ember", "Orla Fenn"),
    "species": ("a wire-haired dachshund", "a grey parrot", "a Norwegian forest cat"),
    "checks": ("disk space and the mail queue", "certificates, clocks, backups", "that every timer has fired"),
    "steps": ("freeze, tag, roll out, watch", "announce, drain, switch, verify", "dry run first, then one region, then all"),
    "channel": ("the red phone group", "#night-watch", "the paging list"),
    "retention": ("ninety days", "three years", "eighteen months", "one season"),
    "components": ("gateway, queue, workers", "edge, core and archive", "two indexers and a scheduler"),
    "limit": ("400 euro a month", "fifty requests a second", "two seats a team"),
    "principles": ("be plain, be kind, keep receipts", "measure first; never guess", "ask before deleting"),
    "style": ("short sentences, no jargon", "warm and direct", "bullet points and numbers"),
    "cares": ("quiet evenings and tidy logs", "the people before the plan", "truthful records"),
    "cause": ("a leaking cache", "a forgotten renewal", "a script that ran twice", "a switch with old firmware"),
    "fix": ("moved the cache out of the process", "renewed it and set three reminders", "put a lock around the job", "swapped the part"),
    "details": ("took the afternoon; nobody lost data", "forty guests, good soup", "two hours down, then steady"),
}  # fmt: skip

_TOP: Final = ("example", "test", "invalid")


def pick(rng: random.Random, kind: str, setting: Setting) -> str:
    """Return a value for a field."""
    made = _MADE.get(kind)
    return made(rng, setting) if made else rng.choice(_WORDS[kind])


def _phone(rng: random.Random, _: Setting) -> str:
    return f"555-{rng.randrange(100, 999)}-{rng.randrange(1000, 9999)}"


def _day(rng: random.Random, first: int, last: int) -> str:
    return f"{rng.randrange(first, last)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}"


def _letters(rng: random.Random, n: int) -> str:
    return "".join(rng.choice("BCDFGHJKLMNPRSTVWXZ") for _ in range(n))


def _word(rng: random.Random) -> str:
    return "".join(rng.choice("bdfgklmnprst") + rng.choice("aeiou") for _ in range(3))


_MADE: Final[dict[str, Callable[[random.Random, Setting], str]]] = {
    "phone": _phone,
    "birthday": lambda rng, _: _day(rng, 1940, 2001),
    "address": lambda rng, s: (
        f"{rng.randrange(1, 90)} {rng.choice(('Mill', 'Quay', 'Fern', 'Chapel'))} Lane, {rng.choice(s.towns)}"
    ),
    "email": lambda rng, _: f"{_word(rng)}@{_word(rng)}.{rng.choice(_TOP)}",
    "birthplace": lambda rng, s: rng.choice(s.towns),
    "url": lambda rng, _: f"https://{_word(rng)}.{_word(rng)}.{rng.choice(_TOP)}",
    "port": lambda rng, _: str(rng.randrange(3000, 9999)),
    "version": lambda rng, _: f"{rng.randrange(1, 9)}.{rng.randrange(0, 30)}.{rng.randrange(0, 9)}",
    "cost": lambda rng, _: f"{rng.randrange(5, 90)} euro",
    "repository": lambda rng, _: f"git.{_word(rng)}.{rng.choice(_TOP)}/{_word(rng)}",
    "deadline": lambda rng, _: _day(rng, 2026, 2028),
    "passport": lambda rng, _: _day(rng, 2027, 2036),
    "plate": lambda rng, _: f"{_letters(rng, 2)} {rng.randrange(100, 999)} {_letters(rng, 2)}",
    "insurance": lambda rng, _: f"{_letters(rng, 3)}-{rng.randrange(10_000, 99_999)}",
}

_SENTENCES: Final[dict[str, tuple[str, ...]]] = {
    "phone": (
        "Ring {x} on {value} after supper.",
        "{value} is where {x} picks up.",
        "{x} can be reached under {value}.",
    ),
    "birthday": (
        "{x} came into the world on {value}.",
        "We bake a cake for {x}: {value}.",
        "{value} is {x}'s big day.",
    ),
    "address": ("{x} has a house at {value}.", "Letters for {x} go to {value}.", "{value} is home to {x}."),
    "email": ("{x} reads what is sent to {value}.", "Write: {value}.", "Inbox of {x}: {value}."),
    "birthplace": (
        "{x} grew up in {value}.",
        "The family of {x} came from {value}.",
        "{value} is where {x} first saw light.",
    ),
    "role": ("{x} earns a living as a {value}.", "By trade {x} is a {value}.", "Nine to five: {value}."),
    "timezone": ("When planning calls, {x} is on {value}.", "{x}'s clock shows {value}."),
    "relationship": ("{x} is our {value}.", "To us {x} is the {value}."),
    "url": ("Open {x} at {value}.", "{x} answers under {value}.", "Browse to {value}."),
    "port": ("{x} listens on {value}.", "Behind the proxy {x} sits on {value}.", "The socket of {x} is {value}."),
    "token": ("The secret for {x} lies {value}.", "To log in to {x}, look {value}."),
    "version": ("We are on {value} of {x}.", "{x} was last upgraded to {value}."),
    "schedule": ("{x} goes off {value}.", "It starts {value}."),
    "purpose": ("We keep {x} for {value}.", "{x}: mostly {value}."),
    "cost": ("{x} takes {value} from the budget.", "The bill for {x} is {value}."),
    "workflow": ("With {x} we go like this: {value}.", "The way of {x}: {value}."),
    "stack": ("{x} is written in {value}.", "Under the hood: {value}."),
    "status": ("{x} is {value}.", "As of this week: {value}."),
    "features": ("{x} can do {value}.", "People like {x} for {value}."),
    "repository": ("Code of {x}: {value}.", "Clone {value}."),
    "deadline": ("{x} must be out by {value}.", "The board wants {x} on {value}."),
}
_PLAIN: Final = ("{x}: {value}.", "For {x} that is {value}.", "Noted for {x}: {value}.")


def sentence(rng: random.Random, kind: str) -> str:
    """Return a sentence with places for ``x`` and ``value``."""
    return rng.choice(_SENTENCES.get(kind, _PLAIN))


GREETINGS: Final = (
    "{x} moved back to {town} and answers in the mornings.", "Please let it ring: {x} is often out in {town}.",
    "{x} sends cards from {town} twice a year.",
)  # fmt: skip
MACHINES: Final = (
    "{x} stands in the cellar in {town}; fans replaced in January.", "A quiet box in {town}. {x} has two disks.",
    "{x}: rented, in {town}, reboot only by hand.",
)  # fmt: skip
PAPERS: Final = (
    "The {x} holds for everybody at {firm}.", "Read the {x} before your first week ends.", "{firm} revised the {x} last autumn.",
)  # fmt: skip
MORNINGS: Final = (
    "Rain in {town}. {x} was late.", "Coffee with {x}; the train from {town} was full.", "{x} phoned from {town} at eight.",
)  # fmt: skip
RELATED: Final = (
    "{x} and {y} belong together, as everybody knows.",
    "See {y} when {x} stops.",
    "Behind {x} there is {y}.",
)
CHATTER: Final = (
    "{p} asked {q} whether {x} still needs {t}; we come back to it.", "{p} wants the {d} to say more about the port and the phone list.",
    "We talked long about {e} and who owns what in {x}.", "{q} will look at the stack of {x} and the status of {t}.",
    "Birthday of {p} is near; {q} collects for a gift. Then {x}.", "The {d} was praised. {p} dislikes the schedule of {t}.",
    "{t} costs too much, said {q}. {p}: and {x}?", "Where does {p} live these days? {q} had no idea; on to the {d}.",
    "What happened in {e} must not happen to {x}, {p} said.", "{q} explained the workflow of {t}; nobody took notes.",
)  # fmt: skip
