"""Names in the invented worlds: people, projects, tools and papers; no real person, firm or place is meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Setting:
    """Names of one world."""

    name: str
    agent: str
    people: tuple[tuple[str, str], ...]
    """Full name, and what they are called; the first is the one whose notes these are."""
    pet: str
    projects: tuple[tuple[str, str], ...]
    tools: tuple[str, ...]
    machines: tuple[str, ...]
    papers: tuple[str, ...]
    events: tuple[tuple[str, str], ...]
    towns: tuple[str, ...]
    firm: str
    strangers: tuple[str, ...]


HARBOUR: Final = Setting(
    "harbour", "Lumen",
    (("Tamsin Orrel", "Tam"), ("Corwin Orrel", "Cory"), ("Beatrix Vane", "Granny Bea"), ("Jasper Vane", "Jas"),
     ("Odile Marchetti", "Odile"), ("Ravi Sundaram", "Ravi"), ("Hanne Brekke", "Hanne"), ("Felix Okonjo", "Felix")),
    "Pickle",
    (("Project Keelson", "Keelson"), ("Tidewater Portal", "Tidewater"), ("Lanternfish", "Lanternfish"),
     ("Gull Analytics", "Gull"), ("Breakwater", "Breakwater")),
    ("Marlin Search", "Quayside CI", "Driftwood", "Barnacle Backup", "Foghorn Alerts", "Ledgerline"),
    ("pelican-01", "cormorant", "heron-box"),
    ("Gating Policy", "Backup Plan", "Heartbeat Check", "Deploy Runbook", "Escalation Guide", "Retention Policy",
     "On-Call Rota", "Architecture Overview", "Spending Policy", "Incident Handbook"),
    (("March Memory Outage", "memory outage"), ("Certificate Lapse", "expired certificate"), ("Keelson Launch", "Keelson launch"),
     ("Queue Pile-Up", "queue jam"), ("Spring Offsite", "offsite")),
    ("Port Ellery", "Saltmarsh", "Innisvale", "Durrow", "Cape Lorne"), "Bluewater Works",
    ("Zelda Quine", "Projekt Morgenrot", "Ulric Stannard", "Velour Engine", "Nadia Pellworm", "Crabapple", "Ottoline Fisk", "Hexwave"),
)  # fmt: skip
ORCHARD: Final = Setting(
    "orchard", "Sorrel",
    (("Maren Holt", "Mari"), ("Elias Holt", "Eli"), ("Rosalind Achterberg", "Oma Roos"), ("Pieter Achterberg", "Piet"),
     ("Zofia Lindqvist", "Zosia"), ("Dmitri Alvarez", "Dima"), ("Aoife Ferran", "Aoife"), ("Kofi Mensah-Ward", "Kofi")),
    "Nutmeg",
    (("Cider Press", "Press"), ("Blossom Planner", "Blossom"), ("Rootstock", "Rootstock"), ("Windfall Market", "Windfall"),
     ("Hedgerow", "Hedgerow")),
    ("Trellis Deploy", "Pomona Search", "Grafter", "Compost Archive", "Scarecrow Monitor", "Apiary Chat"),
    ("bramley", "russet-2", "quincebox"),
    ("Merge Policy", "Nightly Archive", "Morning Heartbeat", "Release Runbook", "Escalation Ladder", "Data Retention Rules",
     "Duty Roster", "System Overview", "Purchase Rules", "Outage Handbook"),
    (("Frost Night Failure", "frost failure"), ("Payment Hiccup", "payment hiccup"), ("Blossom Beta", "Blossom beta"),
     ("Disk Flood", "full disk"), ("Harvest Retreat", "retreat")),
    ("Appleby Cross", "Veldhoven Mill", "Sint Anker", "Larkmoor", "Tansy Hill"), "Orchard Collective",
    ("Quentin Moss", "Silverpine", "Brunhilde Tann", "Okapi Stack", "Leopold Varga", "Gooseneck", "Ximena Toll", "Pyrite"),
)  # fmt: skip
SUMMIT: Final = Setting(
    "summit", "Cairn",
    (("Ingrid Solberg-Day", "Inga"), ("Tobias Day", "Toby"), ("Wilhelmina Kerr", "Nana Mina"), ("Angus Kerr", "Gus"),
     ("Yuki Tanabe", "Yuki"), ("Sunita Rao", "Sunny"), ("Bartholomew Pike", "Bart"), ("Noor El-Amin", "Noor")),
    "Crampon",
    (("Base Camp", "Base Camp"), ("Switchback", "Switchback"), ("Alpenglow Studio", "Alpenglow"), ("Scree", "Scree"),
     ("Ridgeline API", "Ridgeline")),
    ("Belay Queue", "Carabiner Auth", "Piton", "Moraine Store", "Whiteout Logs", "Sherpa Sync"),
    ("everett", "k9-node", "matterbox"),
    ("Review Charter", "Snapshot Routine", "Pulse Monitor", "Rollout Playbook", "Alarm Guide", "Archive Charter",
     "Watch List", "Platform Map", "Expense Charter", "Postmortem Guide"),
    (("Avalanche Saturday", "avalanche"), ("Login Storm", "login storm"), ("Switchback Premiere", "premiere"),
     ("Clock Drift", "clock drift"), ("Summit Days", "summit days")),
    ("Hochfeld", "Glen Tarvie", "Nordlia", "Kestrel Pass", "Ostrava Heights"), "Northface Guild",
    ("Cassius Bloom", "Tundra Relay", "Philippa Grange", "Obsidian Hub", "Magnus Trill", "Fernweh", "Delphine Cobb", "Zirconia"),
)  # fmt: skip
SETTINGS: Final = (HARBOUR, ORCHARD, SUMMIT)
