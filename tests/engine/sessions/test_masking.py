"""Names that files of one run share are searched once; those with secrets are told of each file."""

from __future__ import annotations

import pytest

from lamina_engine.redact.redactor import Redactor
from lamina_engine.sessions.events import Event, Thread
from lamina_engine.sessions.masking import EventMasker

TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


def events() -> list[Event]:
    return [
        Event("tool", "", name="Bash", arguments={"command": "ls"}, facts={"file": f"/src/{TOKEN}.py", "branch": ""})
    ]


@pytest.mark.parametrize("policy", ["mask", "skip", "allow"])
def test_each_file_tells_what_it_holds_whatever_others_held(policy: str) -> None:
    redactor = Redactor(policy)  # type: ignore[arg-type]
    harmless: dict[str, str] = {}
    told = []
    for shared in (None, harmless, harmless):
        masking, found = EventMasker(redactor, thinking=False, harmless=shared), events()
        masking.mask_events(found)
        thread = masking.mask_thread(Thread("s1", f"codex/{TOKEN}", title=" \r\n "))
        told.append((found, thread, masking.found, masking.kinds))
    ref, *got = told
    assert got == [ref, ref]
    assert ref[2] == 2
    assert (TOKEN in str(ref[:2])) == (policy == "allow")


def test_only_names_without_secrets_are_shared() -> None:
    harmless: dict[str, str] = {}
    EventMasker(Redactor(), thinking=False, harmless=harmless).mask_events(events())
    assert harmless == {"file": "file", "branch": "branch", "": "", "Bash": "Bash"}
