"""Secrets that were missed once, each with what must be left of its text (findings, attack 11)."""

from __future__ import annotations

import random

import pytest

from lamina_engine.redact.redactor import Redactor
from tests.acceptance.secret_formats import FORMATS, plant

HEAD, REST = "ghp_a1B2c3D4e5F6g7H8i9J0", "k1L2m3N4o5P6q7R8"
MISSED = {
    "AWS_BEARER_TOKEN_BEDROCK=ABSK{}": "AWS_BEARER_TOKEN_BEDROCK=[redacted:aws-bedrock-key]",
    "AZURE_DEVOPS_PAT={}": "AZURE_DEVOPS_PAT=[redacted:token]",
    "FROM a\nENV API_TOKEN {}\nRUN b": "FROM a\nENV API_TOKEN [redacted:token]\nRUN b",
    'variable "db_password" {\n  type = string\n  default = "Tr0ub4dor&3"\n}': 'variable "db_password" {\n  type = string\n  default = "[redacted:password]"\n}',
    "Set-Cookie: sessionid={}; Path=/": "Set-Cookie: sessionid=[redacted:cookie]; Path=/",
    "q=a%26password%3Dhunter2xyz%26b%3D1": "q=a%26password%3D[redacted:password]%26b%3D1",
    f"{HEAD[:12]}\u200b{HEAD[12:]}{REST} x": "[redacted:github-token] x",
    f"see {HEAD}\n{REST}\nend": "see [redacted:github-token]\nend",
    "my pass\u200bword: hunter2xx": "my pass\u200bword: [redacted:password]",
    # of a second set of 239 forms, written before a look at the rules
    "https://shop-fn.azurewebsites.net/api/sync?code={}==": "https://shop-fn.azurewebsites.net/api/sync?code=[redacted:azure-function-key]",
    "fireworks: fw_a1B2c3D4e5F6g7H8i9J0k1L2": "fireworks: [redacted:fireworks-key]",
    "wandb login 0123456789abcdef0123456789abcdef01234567": "wandb login [redacted:wandb-key]",
    'TavilyClient("tvly-dev-a1B2c3D4e5F6g7H8i9J0k1L2")': 'TavilyClient("[redacted:tavily-key]")',
    "sonar.login=squ_0123456789abcdef0123456789abcdef01234567": "sonar.login=[redacted:sonar-token]",
    "x-honeycomb-team: {}": "x-honeycomb-team: [redacted:honeycomb-key]",
    "LD_KEY=sdk-01234567-89ab-4cde-8f01-23456789abcd": "LD_KEY=[redacted:launchdarkly-key]",
    "ngrok config add-authtoken {}": "ngrok config add-authtoken [redacted:ngrok-token]",
    '$p = ConvertTo-SecureString "Quartz#maple9268" -AsPlainText': '$p = ConvertTo-SecureString "[redacted:password]" -AsPlainText',
    "bindpw Saffron!copper7486": "bindpw [redacted:password]",
    'EMAIL_HOST_PASSWORD = "jvqt xktt hnto hodt"': 'EMAIL_HOST_PASSWORD = "[redacted:password]"',
    "define( 'DB_PASSWORD', 'Willow.willow9636' );": "define( 'DB_PASSWORD', '[redacted:password]' );",
    "La password del server \xe8 Copper-tiger2779.": "La password del server \xe8 [redacted:password].",
    "The password for the staging database is Copper-tiger2779.": "The password for the staging database is [redacted:password].",
    "BORG_PASSPHRASE=violet pencil orbit canyon": "BORG_PASSPHRASE=[redacted:password]",
    "BORG_PASSPHRASE=violet borg create here": "BORG_PASSPHRASE=[redacted:password] borg create here",
    # notes of people
    "login: admin / Firecrest7": "login: admin / [redacted:password]",
    "creds for staging: ruud / Treecreeper_7.": "creds for staging: ruud / [redacted:password].",
    "I changed the root password from Alder7fjord to Birch9grove.": "I changed the root password from [redacted:password] to [redacted:password].",
    "the TWILIO auth token 3f9a1c77b2d84e60a5510c9de2f7ab41 is old": "the TWILIO auth token [redacted:token] is old",
    "SMTP_PASSWORD='violet pencil orbit'": "SMTP_PASSWORD='[redacted:password]'",
    "postgresql://u:p@ss/w0rd@host/db": "postgresql://u:[redacted:url-password]@host/db",
    "| user | password |\n|---|---|\n| ann | Heron7lake |\n| bob | `Kestrel_99` |\n| | |\n| eve |\n": "| user | password |\n|---|---|\n| ann | [redacted:password] |\n| bob | `[redacted:password]` |\n| | |\n| eve |\n",
    "Keys\n\nuser | api key\n| --- | :-: |\nann | 1\n": "Keys\n\nuser | api key\n| --- | :-: |\nann | 1\n",
}  # fmt: skip
LANGUAGES = {
    "Das Passwort lautet: {}": "de", "Kennwort ist {}": "de", "mot de passe : {}": "fr", "la contrase\xf1a es {}": "es",
    "senha: {}": "pt", "wachtwoord is {}": "nl", "has\u0142o: {}": "pl", "\u043f\u0430\u0440\u043e\u043b\u044c: {}": "ru",
    "\u041f\u0430\u0440\u043e\u043b\u044c - \u044d\u0442\u043e, \u043f\u0430\u0440\u043e\u043b\u044c: {}": "ru", "\u5bc6\u7801\u662f{}": "zh", "\u5bc6\u7801\uff1a{}": "zh",
    "\u30d1\u30b9\u30ef\u30fc\u30c9\u306f{}": "ja", "l\xf6senord: {}": "sv", "adgangskode: {}": "da", "heslo: {}": "cs", "salasana: {}": "fi",
}  # fmt: skip
PROSE = (
    "Das Passwort lautet anders als im letzten Jahr.", "Le mot de passe est demand\xe9 \xe0 chaque connexion.",
    "La contrase\xf1a es obligatoria para todos.", "A senha deve ter oito letras.", "Het wachtwoord is vergeten.",
    "\u041f\u0430\u0440\u043e\u043b\u044c \u043d\u0443\u0436\u0435\u043d \u0432\u0441\u0435\u043c.", "\u5bc6\u7801\u662f\u5fc5\u9700\u7684\u3002", "\u30d1\u30b9\u30ef\u30fc\u30c9\u306f\u5fc5\u9808\u3067\u3059\u3002",
    "The path=/usr/lib and pattern=[a-z]+ stay; so does pat: the dog.", "Cookie: theme=dark; lang=en", "ENV API_TOKEN_FILE /run/token",
    "password = hashlib.sha256", "password: settings.Default1", "The password for the user is required.", "wandb login stays",
    "the sdk-build and api-docs stay", "zero\u200bwidth words stay", 'variable "db_password" {\n  type = string\n}', "see ghp_short\nand the next line of words\n",
    "login: admin / operator", "Login: GET / login2", "creds: ssh / ed25519", "logins: 12 / 2024-01-01", "credentials: config/credentials2.yml",
    "We changed the password from SHA1 to SHA256.", "moved the password from vault to keyring", "the token 3f9a1c7 is short",
    "the token abcdefghijklmnopqrstuvwxyz stays", "LABEL_PASSWORD='Enter the new one'", "PASSWORD = 'violet pencil orbit'",
    "| field | password |\n|---|---|\n| type | string |\n| length | 8 chars |\n| needed | required |\n",
    "https://user@host/a@b/c", "git+ssh://git@example.org/team/tool@v1.2",
)  # fmt: skip


def made(letters: str, size: int) -> str:
    return "".join(random.Random(letters).choices("abcdefghijkmnpqrstuvwxyzABCDEFGHJKL23456789", k=size))


@pytest.mark.parametrize("text", MISSED)
def test_what_was_missed_is_masked(text: str) -> None:
    got, _ = Redactor().clean(text.replace("{}", made(text, 52)))
    assert got == MISSED[text]


@pytest.mark.parametrize("text", LANGUAGES)
def test_ten_languages_say_password(text: str) -> None:
    got, findings = Redactor().clean(text.replace("{}", "Girasol_2024!"))
    assert "2024" not in got
    assert [finding.kind for finding in findings] == ["password"]
    (changed,) = Redactor().clean_batch(["plain", text.replace("{}", "Girasol_2024!"), "caf\xe9"])
    assert changed[:2] == (1, got)


@pytest.mark.parametrize("text", PROSE)
def test_prose_about_passwords_stays(text: str) -> None:
    assert Redactor().clean(text) == (text, [])


def test_formats_of_strangers_are_masked() -> None:
    redactor, missed, planted = Redactor(), [], 0
    for form in FORMATS:
        for i in range(3):
            text, hidden = plant(form, random.Random(f"{form}{i}"))
            planted += 1
            missed += [form for _ in range(1) if any(part in redactor.clean(text)[0] for part in hidden)]
    assert len(FORMATS) >= 160
    assert planted >= 400
    assert len(missed) <= 0.02 * planted, missed
