"""Made-up dialogues of two friends each, whose names also occur in other dialogues: noise for a pooled vault."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Final

NAMES: Final = ("Caroline", "Melanie", "Jon", "Gina", "John", "Maria", "Anna", "Tom", "Priya", "Leo", "Sofia", "Ben")
_THINGS: Final = {
    "hobby": ("pottery", "salsa", "painting", "hiking", "baking", "chess", "the piano", "yoga", "photography", "running"),
    "place": ("the coast", "Lisbon", "a national park", "my grandmother's village", "the museum", "Paris", "the lake"),
    "pet": ("dog", "cat", "guinea pig", "parrot", "rabbit"),
    "kin": ("sister", "brother", "mum", "daughter", "son", "cousin", "grandfather"),
    "work": ("a dance studio", "an online store", "a shelter", "a bank", "a school", "an animal clinic", "a bakery"),
    "feeling": ("proud", "nervous", "so happy", "a bit lost", "grateful", "exhausted", "relieved"),
    "event": ("a fundraiser", "the support group", "a charity race", "a wedding", "a conference", "a town meeting"),
    "day": ("last week", "yesterday", "on Saturday", "two days ago", "last month", "this morning"),
    "gift": ("a necklace", "a painting", "an old book", "a clock", "running shoes", "a guitar"),
}  # fmt: skip
_SAID: Final = (
    "Hey {other}! {day} I went to {event} with my {kin}, and I felt {feeling} afterwards.",
    "I started {hobby} {day}. It helps me to calm down after a long day at {work}.",
    "My {kin} gave me {gift} {day}, it means a lot to me because it was in the family for years.",
    "We drove to {place} {day} and camped there with the children. The {pet} came along too!",
    "I lost my job at {work} {day}, so I want to turn my love of {hobby} into a business.",
    "That's wonderful, {other}! I'm {feeling} for you. Did you take pictures at {place}?",
    "Do you remember {event}, {other}? I met somebody there who also does {hobby}.",
    "Our {pet} hid {gift} behind the sofa, we found it {day} and laughed so much.",
    "I volunteer at {work} every weekend, {day} we raised money for the veterans and their families.",
    "{other}, your {kin} must be {feeling}. Will they move to {place} for good?",
    "I've read about {event} in a book that my {kin} recommended; it made me think of adoption and of you.",
    "I'm opening {work} next month, {other}. The advertisement goes out {day}, and I'm {feeling}.",
)


def make_dialogues(count: int, *, seed: int = 23, sessions: int = 15, turns: int = 14) -> list[dict[str, object]]:
    """Return records of some dialogues, each a project of its own."""
    rng, records = random.Random(seed), list[dict[str, object]]()
    for number in range(count):
        pair = rng.sample(NAMES, 2)
        start = datetime(2022, 6, 1, 18, tzinfo=UTC) + timedelta(days=rng.randrange(300))
        for session in range(sessions):
            for turn in range(turns):
                speaker, other = pair[turn % 2], pair[1 - turn % 2]
                slots = {name: rng.choice(values) for name, values in _THINGS.items()}
                at = start + timedelta(days=14 * session, minutes=turn)
                records.append(
                    {
                        "id": f"made-{number}/{session}:{turn}", "project": f"made-{number}", "agent": speaker,
                        "session": f"made-{number}/session_{session}", "created_at": at.isoformat(),
                        "text": f"{speaker}: " + rng.choice(_SAID).format(other=other, **slots),
                    }
                )  # fmt: skip
    return records
