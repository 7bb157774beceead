"""The plugin of OpenCode, which knows no command hooks: it calls `lamina hook`."""

from __future__ import annotations

import json
from typing import Final

_PLUGIN: Final = """\
// Written by `lamina install opencode`; `lamina uninstall opencode` takes it out again.
import { spawn } from "node:child_process"
const PROGRAM = %s

function hook(event, payload, limit = 3000) {
  return new Promise((resolve) => {
    const words = ["hook", event, "--agent", "opencode", "--deadline", String(limit)]
    const child = spawn(PROGRAM, words, { stdio: ["pipe", "pipe", "ignore"] })
    let out = ""
    child.stdout.on("data", (part) => (out += part))
    child.on("error", () => resolve(out))
    child.on("close", () => resolve(out))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(payload))
  }).then((out) => JSON.parse(out || "{}").additionalContext ?? "").catch(() => "")
}

export const Lamina = async ({ client, directory }) => {
  const begun = new Set()
  return {
    "chat.message": async (input, output) => {
      const common = { sessionID: input.sessionID, cwd: directory }
      const part = output.parts.find((part) => part.type === "text" && !part.synthetic)
      if (!part) return
      const start = begun.has(input.sessionID) ? "" : await hook("session-start", { ...common, source: "startup" })
      begun.add(input.sessionID)
      const told = await hook("prompt", { ...common, prompt: part.text })
      for (const text of [start, told].filter(Boolean)) part.text += "\\n\\n" + text
    },
    "experimental.session.compacting": async ({ sessionID }, output) => {
      output.context.push(...[await hook("session-start", { sessionID, cwd: directory, source: "compact" })].filter(Boolean))
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return
      const { sessionID } = event.properties
      const { data: messages } = await client.session.messages({ path: { id: sessionID } }).catch(() => ({}))
      await hook("stop", { sessionID, cwd: directory, messages }, 20000)
    },
  }
}
"""


def plugin(program: str) -> str:
    """Return the plugin's text for a program."""
    return _PLUGIN % json.dumps(program)
