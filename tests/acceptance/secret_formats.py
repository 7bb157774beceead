"""Formats of secrets as their issuers document them, and where people paste them.

Written after the rules were finished and without a look at them, from vendors' pages on their tokens. ``{a}`` is letters and
digits, ``{h}`` hexadecimal, ``{l}`` lower-case letters and digits, ``{u}`` capitals and digits, ``{d}`` digits, ``{b}`` base64
and ``{s}`` url-safe base64; a number follows. ``{pw}`` is a password that people choose, ``{jwt}`` three parts of a token.
"""

from __future__ import annotations

import base64
import random
import re
import string

FORMATS: tuple[str, ...] = (
    # tokens with a prefix of their issuer's
    "ghp_{a36}", "gho_{a36}", "ghu_{a36}", "ghs_{a36}", "ghr_{a36}", "github_pat_{a22}_{a59}", "glpat-{s20}", "gldt-{s20}",
    "glrt-{s20}", "glptt-{h40}", "AKIA{u16}", "ASIA{u16}", "AIza{s35}", "GOCSPX-{s28}", "ya29.{s120}", "1//0{s60}",
    "sk-ant-api03-{s93}AA", "sk-proj-{a74}", "sk-{a48}", "hf_{a34}", "gsk_{a52}", "xai-{a80}", "pplx-{a48}", "r8_{a37}",
    "sk-or-v1-{h64}", "xoxb-{d12}-{d13}-{a24}", "xoxp-{d12}-{d12}-{d13}-{h32}", "xapp-1-A{u10}-{d13}-{h64}",
    "https://hooks.slack.com/services/T{u8}/B{u10}/{a24}", "https://discord.com/api/webhooks/{d18}/{s68}",
    "{d10}:AA{s33}", "SG.{s22}.{s43}", "key-{h32}", "SK{h32}", "{h32}-us14", "xkeysib-{h64}-{a16}", "re_{a8}_{a24}",
    "sk_live_{a24}", "rk_live_{a24}", "whsec_{a32}", "shpat_{h32}", "shpss_{h32}", "sq0atp-{s22}", "sq0csp-{s43}",
    "access_token$production${l16}${h32}", "EZAK{a54}", "npm_{a36}", "pypi-AgEIcHlwaS5vcmc{s120}", "rubygems_{h48}",
    "dckr_pat_{s27}", "dop_v1_{h64}", "doo_v1_{h64}", "dapi{h32}", "hvs.{s90}", "{a14}.atlasv1.{a60}", "pul-{h40}",
    "dp.pt.{a43}", "nfp_{a36}", "sbp_{h40}", "fo1_{s43}", "tskey-auth-{a12}CNTRL-{a32}", "lin_api_{a40}", "ntn_{a46}",
    "secret_{a43}", "glsa_{a32}_{h8}", "NRAK-{u27}", "PMAK-{h24}-{h34}", "pat{a14}.{h64}", "figd_{s40}", "CCIPAT_{a22}_{h40}",
    "bkua_{h40}", "sgp_{h16}_{h40}", "sntrys_{b100}", "dt0c01.{u24}.{u64}", "ATATT3xFfGF0{s170}={h8}", "ATBB{a32}",
    "AGE-SECRET-KEY-1{u58}", "ops_eyJ{b200}", "AKCp8{a68}", "LTAI5t{a18}", "AKID{a32}", "EAACEdEose0cBA{a120}",
    "sl.B{s130}", "lsv2_pt_{h32}_{h10}", "pcsk_{a6}_{a60}", "duffel_test_{s43}", "shippo_live_{h40}", "cio{a32}", "v1.0-{h24}-{h146}",
    "HRKU-AA{s58}", "sha256~{s43}", "CFPAT-{s43}", "FLWSECK-{h32}-X", "nvapi-{s64}", "SCW{u17}", "ABSKQmVkcm9ja0FQSUtleS1{b110}",
    # keys and headers
    "-----BEGIN RSA PRIVATE KEY-----\n{b64}\n{b64}\n{b40}==\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjE{b51}\n{b70}\n-----END OPENSSH PRIVATE KEY-----",
    "-----BEGIN EC PRIVATE KEY-----\\n{b64}\\n{b60}\\n-----END EC PRIVATE KEY-----\\n", "{jwt}", "Authorization: Bearer {a40}",
    "Authorization: Basic {basic}", "curl -H 'X-Api-Key: {a32}' https://api.example.org/v1", "curl -u ada:{pw} https://example.org",
    "X-Auth-Token: {h40}", "Authorization: token {h40}", "Cookie: session={a40}; theme=dark",
    "Set-Cookie: connect.sid=s%3A{s32}.{b40}; Path=/; HttpOnly", "proxy-authorization: Basic {basic}",
    # addresses
    "postgres://app:{pw}@db.internal:5432/shop", "mysql://root:{pw}@10.0.0.5/app", "mongodb+srv://ada:{pw}@cluster0.mongodb.net/x",
    "redis://:{a24}@cache:6379/0", "amqp://guest:{pw}@mq:5672/", "https://ada:{a40}@github.com/ada/shop.git", "ftp://ada:{pw}@files.example.org/",
    "Server=db;Database=x;User Id=sa;Password={pw};", "jdbc:postgresql://db/x?user=app&password={pw}",
    "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={b86}==;EndpointSuffix=core.windows.net",
    "Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={b43}=",
    "https://shop.blob.core.windows.net/c/f.txt?sv=2022-11-02&sr=b&sig={b43}%3D",
    # settings
    "DB_PASSWORD={pw}", "export AWS_SECRET_ACCESS_KEY={b40}", "aws_secret_access_key = {b40}", "API_KEY={a32}", "SECRET_KEY = '{a50}'",
    "client_secret: {a40}", "\"password\": \"{pw}\"", "\"apiKey\": \"{a32}\"", "password: {pw}", "<password>{pw}</password>",
    "ENV DATABASE_PASSWORD {pw}", "ARG NPM_AUTH_TOKEN={a36}", "variable \"admin_password\" {\n  default = \"{pw}\"\n}",
    "//registry.npmjs.org/:_authToken={a36}", "machine example.org login ada password {pw}", "db:5432:shop:app:{pw}",
    "spring.datasource.password={pw}", "JWT_SECRET={a48}", "ENCRYPTION_KEY={b43}=", "ansible_become_pass: {pw}", "mysql -u root -p{pw} shop",
    "sshpass -p {pw} ssh ada@host", "PGPASSWORD={pw} psql -h db", "--password {pw}", "DJANGO_SECRET_KEY=\"{a50}\"", "HEROKU_API_KEY={uuid}",
    "TWILIO_AUTH_TOKEN={h32}", "DATADOG_API_KEY={h32}", "CLOUDFLARE_API_TOKEN={s40}", "AZURE_DEVOPS_PAT={l52}", "VAULT_TOKEN=s.{a24}",
    # words of people
    "the password is {pw}", "Passwort: {pw}", "Das Passwort lautet: {pw}", "mot de passe : {pw}", "la contraseña es {pw}", "senha: {pw}",
    "wachtwoord: {pw}", "hasło: {pw}", "пароль: {pw}", "密码：{pw}", "パスワード：{pw}", "lösenord: {pw}",
)  # fmt: skip

_WORDS = ("Sommer", "violet", "Tiger", "maple", "Otter", "river", "Falcon", "comet", "harbor", "Basil")
_SETS = {
    "a": string.ascii_letters + string.digits, "h": "0123456789abcdef", "l": string.ascii_lowercase + "234567",
    "u": string.ascii_uppercase + string.digits, "d": string.digits, "b": string.ascii_letters + string.digits + "+/",
    "s": string.ascii_letters + string.digits + "-_",
}  # fmt: skip
_PART = re.compile(r"\{(?:([ahludbs])(\d+)|(pw|jwt|basic|uuid))\}")
_LEADS = ("", "We use this one:\n", "see the log of 12:04\n> ", "- step 3\n\n")


def plant(form: str, chance: random.Random) -> tuple[str, list[str]]:
    """Return a text with a secret of a format, and what of it must not be read any more."""
    hidden: list[str] = []

    def fill(match: re.Match[str]) -> str:
        letters, count, special = match.groups()
        if special == "pw":
            made = f"{chance.choice(_WORDS)}{chance.choice('!#_-.')}{chance.randrange(10, 9999)}{chance.choice(('', 'x', 'Q'))}"
        elif special == "jwt":
            made = ".".join(("eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiI" + draw("s", 40), draw("s", 43)))
        elif special == "basic":
            made = base64.b64encode(f"ada:{draw('a', 14)}".encode()).decode()
        elif special == "uuid":
            made = "-".join(draw("h", size) for size in (8, 4, 4, 4, 12))
        else:
            made = draw(letters, int(count))
        if len(made) >= 6:
            hidden.append(made)
        return made

    def draw(letters: str, count: int) -> str:
        return "".join(chance.choices(_SETS[letters], k=count))

    text = _PART.sub(fill, form)
    return chance.choice(_LEADS) + text + "\n", hidden
