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

// sent without what is not kept: a payload has at most 4 MB
const short = (text) => (typeof text === "string" ? text.slice(0, 20000) : text)
const message = ({ info, parts }) => ({ info, parts: parts.flatMap((part) => part.type === "tool" ? [{ ...part, state: {
  ...part.state, output: short(part.state.output), metadata: { exit: part.state.metadata?.exit }, attachments: undefined } }]
  : part.type === "text" && !part.synthetic ? [part] : []) })

export const Lamina = async ({ client, directory }) => {
  const begun = new Map()
  const common = async (sessionID) => {
    const path = { id: sessionID }
    if (!begun.has(sessionID)) begun.set(sessionID, (await client.session.get({ path }).catch(() => ({}))).data?.parentID)
    return { sessionID, cwd: directory, parentID: begun.get(sessionID) }
  }
  return {
    "chat.message": async ({ sessionID }, output) => {
      const part = output.parts.find((part) => part.type === "text" && !part.synthetic)
      if (!part) return
      const isFirst = !begun.has(sessionID), asked = await common(sessionID)
      const start = isFirst ? await hook("session-start", { ...asked, source: "startup" }) : ""
      const told = await hook("prompt", { ...asked, prompt: part.text })
      for (const text of [start, told].filter(Boolean))
        output.parts.push({ ...part, id: part.id + output.parts.length, text, synthetic: true })
    },
    "experimental.session.compacting": async ({ sessionID }, output) => {
      output.context.push(...[await hook("session-start", { ...(await common(sessionID)), source: "compact" })].filter(Boolean))
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return
      const { sessionID } = event.properties
      const { data: messages = [] } = await client.session.messages({ path: { id: sessionID } }).catch(() => ({}))
      await hook("stop", { ...(await common(sessionID)), messages: messages.map(message) }, 20000)
    },
  }
}
"""


def plugin(program: str) -> str:
    """Return the plugin's text for a program."""
    return _PLUGIN % json.dumps(program)
