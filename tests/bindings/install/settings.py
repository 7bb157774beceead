"""Settings files as people have them: comments, tabs, CRLF, trailing commas, other people's hooks, one line, nothing."""

from __future__ import annotations

OTHER_HOOK = '{"hooks": [{"type": "command", "command": "say done", "timeout": 5}]}'

CLAUDE = [
    "",
    "{}",
    "{ }\n",
    "{\n}\n",
    '{"model": "opus"}',
    '{"model":"opus","hooks":{}}',
    '{"hooks": {"Stop": []}}\n',
    '{"hooks": {"Stop": [' + OTHER_HOOK + "]}}",
    '{\n  "model": "opus",\n  "permissions": {"allow": ["Bash(git:*)"], "deny": []}\n}\n',
    '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"SessionStart": [\n\t\t\t' + OTHER_HOOK + "\n\t\t]\n\t}\n}\n",
    '{\r\n    "model": "opus",\r\n    "env": {\r\n        "A": "1"\r\n    }\r\n}\r\n',
    '\ufeff{\r\n  "hooks": {\r\n    "Stop": [\r\n      ' + OTHER_HOOK + "\r\n    ]\r\n  }\r\n}",
    '// my settings\n{\n  // the model\n  "model": "opus", // best\n  /* hooks { [ */\n  "hooks": {\n    "Stop": [\n      // mine\n      '
    + OTHER_HOOK + ", // last\n    ],\n  },\n}\n// the end\n",
    '{\n  "text": "a // no comment, /* neither */ \\" , } ]",\n  "hooks": {"UserPromptSubmit": [' + OTHER_HOOK + "]}\n}\n",
    '{\n    "hooks"  :  {\n        "PreToolUse": [\n            {\n                "matcher": "Bash",\n                "hooks": [\n'
    '                    {"type": "command", "command": "guard"}\n                ]\n            }\n        ]\n    }\n}\n',
    '{\n  "a": 1\n  , "b": 2\n  , "hooks": {"Stop": [' + OTHER_HOOK + "]}\n}\n",
    '{"hooks": {"Stop": [' + OTHER_HOOK + "], \"SessionEnd\": [" + OTHER_HOOK + ']}, "mcpServers": {"other": {"command": "x"}}}\n',
    '{\n  "unicode": "Grüße 谢谢 \\ud83d\\ude00",\n  "n": -1.5e10,\n  "t": true,\n  "x": null,\n}\n',
    '{\n  "hooks": {\n    "Stop": [\n      ' + OTHER_HOOK + "\n      // nothing below\n    ]\n  } // hooks\n}",
    "{\n\n\n  \"model\": \"opus\"\n\n\n}\n\n\n",
]  # fmt: skip

SERVERS = [
    '{"mcpServers": {}}',
    '{\n  "mcpServers": {\n    "other": {\n      "command": "npx",\n      "args": ["-y", "server"] // theirs\n    }\n  }\n}\n',
    '{\r\n\t"mcpServers": {\r\n\t\t"a": {"command": "a"},\r\n\t\t"b": {"command": "b"},\r\n\t}\r\n}\r\n',
    '{"projects": {"/home/ada": {"history": ["// x", "{"]}}, "mcpServers": {"z": {"type": "http", "url": "http://x"}}}',
    '{\n    "numStartups": 412,\n    "oauthAccount": {"uuid": "0b"}\n}',
]

TOML = [
    "",
    'model = "gpt-5.4"\n',
    '# mine\nmodel = "gpt-5.4" # best\r\n\r\n[features]\r\nhooks = true\r\n',
    '[mcp_servers.other]\ncommand = "x"\nargs = [\n  "a", # one\n  "b",\n]\n\n# about profiles\n[profiles.fast]\nmodel = "m"\n',
    'a = 1\n[projects."/home/ada/shop"]\ntrust_level = "trusted"',
    'text = """\n[mcp_servers.lamina2]\ncommand = "no"\n"""\n',
]

BROKEN = [
    "{",
    '{"a": }',
    '{"a": 1 "b": 2}',
    "[1, 2]",
    "nonsense",
    '{"a": "\n"}',
    "{'a': 1}",
    '{"hooks": []}',
    '{"hooks": {"Stop": {}}}',
]
