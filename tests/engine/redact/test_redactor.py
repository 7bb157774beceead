"""Planted secrets must go, look-alikes must stay. Secrets are put together at run time, so scanners pass this file."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import random
import string
import time
import uuid
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.redact.redactor import Finding, Masked, Redactor, mask

_RANDOM = random.Random(20240607)
ALNUM = string.ascii_letters + string.digits


@pytest.fixture(autouse=True)
def _same_draws(request: pytest.FixtureRequest) -> None:
    """Make what a test draws a matter of its name, not of the tests before it: one token in a thousand looks like words."""
    _RANDOM.seed(request.node.name)


def draw(count: int, alphabet: str = ALNUM) -> str:
    """Random characters with at least one digit and one letter where the alphabet has them."""
    while True:
        text = "".join(_RANDOM.choice(alphabet) for _ in range(count))
        wanted = [group for group in (string.digits, string.ascii_letters) if set(group) & set(alphabet)]
        if all(set(group) & set(text) for group in wanted):
            return text


HEX = "0123456789abcdef"
B64 = ALNUM + "+/"
URL64 = ALNUM + "_-"


def jwt() -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return ".".join(
        (part({"alg": "HS256", "typ": "JWT"}), part({"sub": "1234567890", "iat": 1516239022}), draw(43, URL64))
    )


TOKENS: dict[str, Callable[[], str]] = {
    "github-classic": lambda: "gh" + "p_" + draw(36),
    "github-short-alphabet": lambda: "ghp_" + "a1B2" * 9,
    "github-oauth": lambda: "gh" + "o_" + draw(36),
    "github-server": lambda: "gh" + "s_" + draw(36),
    "github-refresh": lambda: "gh" + "r_" + draw(76),
    "github-fine": lambda: "github" + "_pat_" + draw(22) + "_" + draw(59),
    "gitlab": lambda: "gl" + "pat-" + draw(20, URL64),
    "aws-id": lambda: "AK" + "IA" + draw(16, string.ascii_uppercase + "234567"),
    "aws-session-id": lambda: "AS" + "IA" + draw(16, string.ascii_uppercase + "234567"),
    "google-api": lambda: "AI" + "za" + draw(35, URL64),
    "google-oauth": lambda: "ya" + "29." + draw(80, URL64) + "x",
    "google-secret": lambda: "GOC" + "SPX-" + draw(28, ALNUM),
    "slack-bot": lambda: (
        "xo" + "xb-" + draw(12, string.digits + "a") + "-" + draw(13, string.digits + "b") + "-" + draw(24)
    ),
    "slack-user": lambda: "xo" + "xp-" + draw(48, ALNUM),
    "slack-app": lambda: "xa" + "pp-1-A" + draw(10) + "-" + "1234567890123" + "-" + draw(64, HEX),
    "slack-hook": lambda: "https://hooks." + "slack.com/services/T" + draw(8) + "/B" + draw(8) + "/" + draw(24),
    "discord-hook": lambda: "https://discord.com/api/" + "webhooks/" + "123456789012345678/" + draw(68, URL64),
    "discord-bot": lambda: "MTA" + "xNzk" + draw(19) + "." + draw(6) + "." + draw(38, ALNUM),
    "stripe-live": lambda: "sk" + "_live_" + draw(24),
    "stripe-test": lambda: "sk" + "_test_" + draw(24),
    "stripe-restricted": lambda: "rk" + "_live_" + draw(24),
    "stripe-hook": lambda: "whs" + "ec_" + draw(32),
    "openai": lambda: "sk" + "-" + draw(48),
    "openai-project": lambda: "sk" + "-proj-" + draw(64, URL64) + "9x",
    "anthropic": lambda: "sk" + "-ant-api03-" + draw(93, URL64) + "AA",
    "huggingface": lambda: "h" + "f_" + draw(34),
    "npm": lambda: "np" + "m_" + draw(36),
    "pypi": lambda: "pyp" + "i-AgEIcHlwaS5vcmc" + draw(80, URL64) + "a",
    "docker": lambda: "dc" + "kr_pat_" + draw(27, ALNUM),
    "digitalocean": lambda: "do" + "p_v1_" + draw(64, HEX),
    "twilio": lambda: "S" + "K" + draw(32, HEX),
    "sendgrid": lambda: "S" + "G." + draw(22, URL64) + "." + draw(42, URL64) + "z",
    "mailgun": lambda: "ke" + "y-" + draw(32, HEX),
    "mailchimp": lambda: draw(32, HEX) + "-u" + "s12",
    "ntfy": lambda: "t" + "k_" + draw(29),
    "telegram": lambda: "123456789" + ":A" + "A" + draw(33),
    "databricks": lambda: "da" + "pi" + draw(32, HEX),
    "vault": lambda: "hv" + "s." + draw(90, ALNUM),
    "terraform": lambda: draw(14) + ".atl" + "asv1." + draw(66),
    "shopify": lambda: "sh" + "pat_" + draw(32, HEX),
    "square": lambda: "sq" + "0atp-" + draw(22, ALNUM),
    "atlassian": lambda: "ATA" + "TT3" + draw(180),
    "linear": lambda: "lin" + "_api_" + draw(40),
    "notion": lambda: "nt" + "n_" + draw(46),
    "notion-old": lambda: "sec" + "ret_" + draw(43),
    "age": lambda: "AGE-" + "SECRET-KEY-1" + draw(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    "jwt": jwt,
    "groq": lambda: "gs" + "k_" + draw(52),
    "azure-ad": lambda: draw(3) + "8Q" + "~" + draw(33),
    "grafana": lambda: "gl" + "sa_" + draw(32) + "_" + draw(8, HEX),
    "planetscale": lambda: "psc" + "ale_tkn_" + draw(43),
}

CONTEXTS: dict[str, Callable[[str], str]] = {
    "prose": lambda s: f"Yesterday we rotated {s}, and then it rained.",
    "sentence end": lambda s: f"The old one was {s}.",
    "own line": lambda s: f"first line\n{s}\nlast line\n",
    "code": lambda s: f'client = Client("{s}", timeout=30)',
    "json line": lambda s: json.dumps({"role": "user", "text": f"here it is:\n{s}\nthanks", "n": 3}),
    "nested json": lambda s: json.dumps({"line": json.dumps({"text": f"a\n{s}\tb"})}),
    "yaml": lambda s: f"service:\n  credential: {s}\n  region: eu\n",
    "env": lambda s: f"HOST=localhost\nAPP_TOKEN={s}\nPORT=80\n",
    "markdown code": lambda s: f"- run it with `{s}` as the argument",
    "fence": lambda s: f"```sh\nexport X={s}\n```\n",
    "query": lambda s: f"GET https://api.example.org/v1/items?page=2&t={s}&limit=10",
    "table": lambda s: f"| name | value |\n| --- | --- |\n| key | {s} |\n",
    "html": lambda s: f'<meta name="x" content="{s}">',
    "cjk": lambda s: f"密钥是 {s} 。",
    "parentheses": lambda s: f"(see {s})",
}


@pytest.mark.parametrize("kind", TOKENS)
def test_token_is_gone_in_every_context(kind: str) -> None:
    redactor = Redactor()
    for name, context in CONTEXTS.items():
        secret = TOKENS[kind]()
        body = secret.rsplit("/", 1)[-1]
        got, findings = redactor.clean(context(secret))
        assert body not in got, (kind, name, got)
        assert "[redacted:" in got
        assert findings
        assert body[2:-2] not in got


PASSWORDS = (
    "hunter2",
    "S3cr3t-Passw0rd!",
    "p@ss;w0rd&x",
    "Tr0ub4dor&3",
    "xK9#mP2$vL5",
    "correct-horse-battery-staple9",
)
PASSWORD_CONTEXTS: dict[str, Callable[[str], str]] = {
    "env": lambda s: f"HOST=db\nDB_PASSWORD={s}\nPORT=1\n",
    "export": lambda s: f"export PGPASSWORD={s}\n",
    "docker": lambda s: f'docker run -e POSTGRES_PASSWORD="{s}" postgres:16',
    "yaml": lambda s: f"database:\n  user: app\n  password: {s}\n  pool: 5\n",
    "yaml quoted": lambda s: f'  passwd: "{s}"\n',
    "yaml block": lambda s: f"password: |\n  {s}\nuser: x\n",
    "json": lambda s: json.dumps({"user": "app", "password": s, "port": 5432}),
    "json pretty": lambda s: json.dumps({"db_password": s}, indent=2),
    "json in json": lambda s: json.dumps({"text": json.dumps({"password": s})}),
    "toml": lambda s: f"[db]\npassword = '{s}'\n",
    "python": lambda s: f'conn = connect(host="db", password="{s}", user="x")',
    "python typed": lambda s: f'password: str = "{s}"',
    "python dict": lambda s: f"config['password'] = '{s}'",
    "python compare": lambda s: f'if password == "{s}":',
    "javascript": lambda s: f"const dbPassword = '{s}';",
    "object": lambda s: f"{{ user: 'x', password: '{s}' }}",
    "go": lambda s: f'password := "{s}"',
    "php": lambda s: f"'password' => '{s}',",
    "ini": lambda s: f"[client]\npwd={s}\n",
    "flag": lambda s: f"tool --password='{s}' --verbose",
    "flag space": lambda s: f'tool --db-password "{s}" run',
    "prose quoted": lambda s: f"The admin password is `{s}` for now.",
    "bold": lambda s: f"**Password:** {s}\n",
    "netrc": lambda s: f"machine example.org login me password {s}\n",
    "getenv": lambda s: f'os.environ.get("DB_PASSWORD", "{s}")',
    "k8s": lambda s: f"- name: DB_PASSWORD\n  value: {s}\n",
    "xml": lambda s: f"<password>{s.replace('&', '+')}</password>",
    "sql": lambda s: f"CREATE USER app WITH PASSWORD '{s}';",
    "mysql": lambda s: f"CREATE USER app IDENTIFIED BY '{s}';",
    "define": lambda s: f'#define WIFI_PASSWORD "{s}"',
    "compose list": lambda s: f"environment:\n  - MYSQL_PASSWORD={s}\n",
    "comment": lambda s: f"# password: {s}\n",
}


@pytest.mark.parametrize("context", PASSWORD_CONTEXTS)
@pytest.mark.parametrize("password", PASSWORDS)
def test_password_is_gone(context: str, password: str) -> None:
    text = PASSWORD_CONTEXTS[context](password)
    got, findings = Redactor().clean(text)
    assert findings, text
    assert password.replace("&", "+") not in got
    assert password not in got
    assert json.dumps(password)[1:-1] not in got
    assert text.count('"') == got.count('"'), "quotes stay"


KEY_CONTEXTS: dict[str, Callable[[str], str]] = {
    "env": lambda s: f"AWS_SECRET_ACCESS_KEY={s}\n",
    "ini": lambda s: f"aws_secret_access_key = {s}\n",
    "json": lambda s: json.dumps({"secretAccessKey": s}),
    "api key": lambda s: f"api_key: {s}",
    "apiKey": lambda s: f"const apiKey = '{s}'",
    "human": lambda s: f"- API key: {s}",
    "prose": lambda s: f"my api key is {s} ok",
    "token": lambda s: f'access_token="{s}"',
    "header": lambda s: f"X-Api-Key: {s}",
    "auth": lambda s: f"Authorization: Bearer {s}",
    "token header": lambda s: f"curl -H 'Authorization: token {s}' https://x.example",
    "mapping": lambda s: f'headers = {{"Authorization": "Bearer {s}"}}',
    "client secret": lambda s: f"client_secret={s}&grant_type=x",
    "query": lambda s: f"https://x.example/a?access_token={s}&b=1",
    "npmrc": lambda s: f"//registry.npmjs.org/:_authToken={s}",
    "connection": lambda s: f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={s};EndpointSuffix=x",
    "bare bearer": lambda s: f"I sent Bearer {s} twice",
    "jwt secret": lambda s: f"JWT_SECRET={s}",
    "encryption": lambda s: f'encryption_key = "{s}"',
    "flag": lambda s: f"deploy --token {s} --yes",
}


@pytest.mark.parametrize("context", KEY_CONTEXTS)
def test_assigned_key_is_gone(context: str) -> None:
    for alphabet, count in ((B64, 40), (HEX, 32), (ALNUM, 24), (HEX, 64)):
        secret = draw(count, alphabet)
        got, _ = Redactor().clean(KEY_CONTEXTS[context](secret))
        assert secret not in got
        assert "[redacted:" in got


def pem(label: str, body: str | None = None, lines: int = 12) -> str:
    body = body or "\n".join(draw(64, B64) for _ in range(lines)) + "\n" + draw(20, B64) + "=="
    return "-----BEG" + f"IN {label}-----\n{body}\n-----E" + f"ND {label}-----"


@pytest.mark.parametrize(
    "label",
    [
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "DSA PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ],
)
def test_key_block_is_gone_in_every_form(label: str) -> None:
    block = pem(label)
    body = [line for line in block.split("\n")[1:-1] if len(line) > 8]
    truncated = block.rsplit("\n", 1)[0]
    forms = {
        "plain": f"before\n{block}\nafter",
        "escaped": json.dumps({"private_key": block, "id": 7}),
        "env": 'KEY="' + block.replace("\n", "\\n") + '"\nafter=1',
        "yaml": "key: |\n" + "\n".join("    " + line for line in block.split("\n")) + "\nafter: 1",
        "quote": "\n".join("> " + line for line in block.split("\n")) + "\n\nafter",
        "one line": block.replace("\n", " ") + " after",
        "truncated": truncated + "\n\nafter that, prose goes on",
        "truncated escaped": json.dumps({"k": truncated})[:-2],
        "headless": "\n".join(block.split("\n")[4:]) + "\nafter",
    }
    for name, text in forms.items():
        got, findings = Redactor().clean(text)
        kept = body if name != "headless" else body[3:]
        assert not [line for line in kept if line in got], (name, got)
        assert findings[0].kind == "private-key"
        assert ("after" in got) == ("after" in text), (name, got)


def test_key_block_encoded_in_base64_is_gone_and_a_certificate_stays() -> None:
    secret = base64.b64encode(pem("RSA PRIVATE KEY").encode()).decode()
    public = base64.b64encode(pem("CERTIFICATE").encode()).decode()
    got, _ = Redactor().clean(f"client-key-data: {secret}\nclient-certificate-data: {public}\n")
    assert secret[:200] not in got
    assert public in got


@pytest.mark.parametrize("label", ["PRIVATE KEY", "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "OPENSSH PRIVATE KEY"])
@pytest.mark.parametrize("size", range(34, 104))
def test_a_key_in_base64_that_was_cut_off_is_gone(label: str, size: int) -> None:
    cut = base64.b64encode(pem(label).encode()).decode()[:size]
    assert Redactor().clean(f"client-key-data: {cut}…")[0] == "client-key-data: [redacted:private-key]…"


@pytest.mark.parametrize("label", ["CERTIFICATE", "PUBLIC KEY", "RSA PUBLIC KEY", "EC PARAMETERS", "DH PARAMETERS"])
@pytest.mark.parametrize("size", range(34, 104))
def test_a_public_block_in_base64_that_was_cut_off_stays(label: str, size: int) -> None:
    text = f"ca-data: {base64.b64encode(pem(label).encode()).decode()[:size]}…"
    assert Redactor().clean(text)[0] == text


URLS = (
    "postgres://app:{}@db.example.org:5432/main",
    "mongodb+srv://app:{}@cluster0.example.net/?retryWrites=true",
    "redis://:{}@cache:6379/0",
    "https://user:{}@github.com/org/repo.git",
    "amqp://guest:{}@mq/vhost",
    "(see mysql+pymysql://root:{}@127.0.0.1/x)",
)


@pytest.mark.parametrize("url", URLS)
def test_url_password_is_masked_and_the_rest_stays(url: str) -> None:
    for password in ("hunter2", "p%40ss", "a-B_c.9", "word", "p@ss", "s3/cr@t"):
        got, findings = Redactor().clean(url.format(password))
        assert got == url.format("[redacted:url-password]")
        assert [finding.kind for finding in findings] == ["url-password"]


def test_commands_and_special_notations() -> None:
    secret = draw(20)
    for text in (
        f"curl -u admin:{secret} https://example.org",
        f"curl --user 'admin:{secret}' https://example.org",
        f"mysql -u root -p{secret} shop",
        f"sshpass -p '{secret}' ssh host",
        f"docker login -u me -p {secret} registry.example.org",
        f"redis-cli -h x -a {secret}",
        f"app:{secret}@tcp(127.0.0.1:3306)/shop",
        f"https://a.blob.core.windows.net/c?sv=2020&sig={secret}%2Babc%3D",
        f"Server=x;User Id=sa;Password={secret};Encrypt=true",
        "Authorization: Basic " + base64.b64encode(f"me:{secret}".encode()).decode(),
        f"passphrase: {secret}",
        f'passphrase = "violet {secret} garden"',
        "passphrase: violet pencil garden mirror\n",
        f"AWS Secret Access Key [None]: {secret}",
        f"user.setPassword('{secret}')",
        f"password: 'It''s{secret}'",
        f"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{secret}{secret}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----",
        f'seedPhrase = "{" ".join(["abandon"] * 12)}"',
        "passphrase = 'violet pencil garden mirror'",
        "seed phrase: " + " ".join(["abandon", "ability", "able", "about"] * 3),
        f"https://{secret}{secret}@sentry.example.org/42",
        f"localhost:5432:shop:app:{secret}\n",
        f'{{"kty":"RSA","n":"abc","d":"{secret}{secret}{secret}"}}',
        f"AKIA{'ABCDEFGH23456723'},{draw(40, B64)}\n",
    ):
        got, findings = Redactor().clean(text)
        assert findings, text
        assert secret not in got
        assert "violet" not in got
        assert "abandon" not in got


COMMANDS = (
    "borg benchmark crud repo src", "borg init --encryption repokey repo", "borg list", "sh -c 'x; y'", "tool | less",
)  # fmt: skip


@pytest.mark.parametrize("name", ["BORG_PASSPHRASE", "PGPASSWORD", "DB_PASS"])
@pytest.mark.parametrize("lead", ["", "$ ", "> $ ", "env ", "# ", "FOO=1 ", "$ sudo env ", "x\\n"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_behind_an_assignment_stays(name: str, lead: str, command: str) -> None:
    line = f"{lead}{name}={{}} {command}\n".format
    assert Redactor().clean(line("hunter2"))[0] == line("[redacted:password]")
    assert Redactor().clean(line("secret") * 2) == (line("secret") * 2, []), "a placeholder"
    assert Redactor().clean(line("correct"))[0] in (line("correct"), line("[redacted:password]"))


@pytest.mark.parametrize("name", ["BORG_PASSPHRASE", "PGPASSWORD"])
@pytest.mark.parametrize("value", ["hunter2", "'hunter2'", '"hunter2"'])
@pytest.mark.parametrize("sign", ["; ", ";", " && ", " # ", "\n"])
def test_a_command_behind_an_export_stays(name: str, value: str, sign: str) -> None:
    got, _ = Redactor().clean(f"export {name}={value}{sign}borg list repo now\n")
    assert got == f"export {name}={value}{sign}borg list repo now\n".replace("hunter2", "[redacted:password]")


@pytest.mark.parametrize(
    "line",
    [
        "passphrase: {}\n", "  passphrase: {}", "passphrase = {}\n", "passphrase={}", "PASSPHRASE = {}",
        "A=1\nBORG_PASSPHRASE={}\n", "BORG_PASSPHRASE={}\nB=2\n", "[borg]\nPASSPHRASE={}", "- BORG_PASSPHRASE={}",
        "set BORG_PASSPHRASE={}", "BORG_PASSPHRASE='{}' borg list", 'export BORG_PASSPHRASE="{}"; borg list',
    ],
)  # fmt: skip
def test_words_are_a_phrase_where_the_form_says_so(line: str) -> None:
    for phrase in ("violet pencil garden mirror", "secret pencil garden mirror"):
        assert Redactor().clean(line.format(phrase))[0] == line.format("[redacted:password]")


def test_a_bare_word_is_a_passphrase_in_a_shell() -> None:
    for lead in ("", "$ ", "export ", "$ env "):
        for command in ("borg list repo now", "borg init --encryption repokey"):
            got, _ = Redactor().clean(f"{lead}BORG_PASSPHRASE=correct {command}\n")
            assert got == f"{lead}BORG_PASSPHRASE=[redacted:password] {command}\n"


def test_prose_behind_a_passphrase_does_not_shelter_it() -> None:
    for prose in ("and no other", "some words here too"):
        got, _ = Redactor().clean(f"passphrase: hunter2 {prose}")
        assert got == f"passphrase: [redacted:password] {prose}"


def look_alikes() -> Iterator[str]:
    """Some 1,600 distinct texts in which there is no secret."""
    rng = random.Random(7)
    for number in range(120):
        digest = hashlib.sha256(str(number).encode()).hexdigest()
        sha1 = hashlib.sha1(str(number).encode()).hexdigest()
        md5 = hashlib.md5(str(number).encode()).hexdigest()
        name = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        b64 = base64.b64encode(rng.randbytes(64)).decode()
        yield f"commit {sha1} fixed it"
        yield f"sha256:{digest}"
        yield f"FROM node:20@sha256:{digest}"
        yield f"md5 {md5}  file{number}.tar.gz"
        yield f"id: {name}"
        yield f'"integrity": "sha512-{b64}"'
        yield f'ETag: "{md5}"'
        yield f"trace_id={md5} span_id={md5[:16]}"
        yield f"{1713564000 + number * 977} and {1713564000123 + number}"
        yield f"01HV{''.join(rng.choices('0123456789ABCDEFGHJKMNPQRSTVWXYZ', k=22))}"
        yield f"git show {sha1[:7]}..{sha1[8:15]}"
        yield f"https://github.com/org/repo/commit/{sha1}"
        yield f"data:image/png;base64,{b64}"
    for stem in ("app", "click", "types", "router", "pytest", "property", "dataclass", "angular", "babel", "vue"):
        for leaf in ("route", "command", "node", "fixture", "core", "get", "setter", "cli"):
            yield f"@{stem}.{leaf}('/x')"
            yield f'import x from "@{stem}/{leaf}"'
            yield f"{stem}.{leaf}@example.org wrote"
    for key in ("password", "db_password", "api_key", "secret", "client_secret", "access_token", "auth_token", "token"):
        for value in (
            'os.environ["X"]', "os.getenv('DB_PASSWORD')", "${DB_PASSWORD}", "$DB_PASSWORD", "process.env.TOKEN",
            "{{ secret }}", "{{ .Values.password }}", "<your-api-key>", "your_api_key_here", '"your-token-here"',
            "xxxx", "xxxxxxxxxxxxxxxx", "****", '"********"', "changeme", "None", "null", "true", '""', "''",
            "get_password()", "self.password", "config.password", "settings.SECRET", "args.token",
            "input('Password: ')",
            "getpass.getpass()", "secrets.token_hex(32)", "${{ secrets.GITHUB_TOKEN }}", "!Ref DbPassword",
            "vault:secret/data/app#key", "op://vault/item/field", "/run/secrets/db_password", "YOUR_API_KEY",
            "<PASSWORD>", "[REDACTED]", "...", "required", '"string"', "f'{user}-{suffix}'", "%(password)s",
            "request.form['password']", "options[:password]", "new_value",
            "arn:aws:secretsmanager:eu-west-1:123:secret:x",
        ):  # fmt: skip
            yield f"{key} = {value}"
            yield f"  {key}: {value}"
        yield f"def login({key}: str) -> None:"
        yield f"{key}: Token"
        yield f"the {key} parameter is required"
        yield f"{key}: the unit of text"
        yield f"{key}: keep it simple"
        yield f"reset your {key} at https://example.org/reset"
        yield f"| {key} | string | no |"
        yield f"--{key} flag"
        yield f'<input type="password" name="{key}">'
        yield f"{key}_id: {uuid.UUID(int=rng.getrandbits(128))}"
        yield f"{key}_hash = '{hashlib.md5(key.encode()).hexdigest()}'"
    yield from (
        "from sk-learn import svm", "task-management", "risk-free-rate-of-return-2024",
        "sk-fading-circle-container-2024",
        "disk-usage-analyzer-with-a-long-name-1234567890", "class='sk-cube-grid-animation-delay-20'",
        "http://host:8080/@scope/pkg", "git@github.com:org/repo.git", "user@host:path/to/file",
        "ssh://git@host:22/repo",
        "https://medium.com/@user/a-title-1234567890ab", "npm install @types/node@20.1.0",
        "http://localhost:3000/a:b@c",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "b" * 43 + " me@host",
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ" + "c" * 300,
        "call +1 (555) 123-4567", "4111111111111111", "4111 1111 1111 1111", "v1.2.3-rc.4+build.567",
        "192.168.0.1:8080",
        "2024-01-02T03:04:05.678Z", "max_tokens = 4096", "pad_token: <pad123abc>", "token_type: bearer", "tokens: 128",
        "token: kebab-case-name", "secret: keep-it-simple-2024", "secretName: my-tls-secret-1", "token: utf8_decode3",
        "password_encryption = scram-sha-256", "password: 8-20 characters", "password is base64 encoded",
        "uint256 token",
        "the token was sha256-hashed", "Bearer authentication is required", "Basic usage is simple",
        "basic auth: see below",
        "Authorization: Bearer <token>", "Authorization: Bearer $TOKEN", "Authorization: Bearer YOUR_TOKEN",
        "postgres://user:password@localhost/db", "postgres://{user}:{password}@{host}/db", "https://$USER:$PASS@host/",
        "pk_live_" + "a1B2" * 6, "ghp_short", "ghp_" + "x" * 36, "AKIA is the prefix", "eyJhbGciOiJIUzI1NiJ9 alone",
        "cat ~/.ssh/id_rsa.pub", "mysql -u root -p", "mysql -u root -p shop", "docker run -u 1000:1000 image",
        "curl -u user",
        "bypass: allowed1", "compass=north2", "class=btn2primary", "keyboard: qwerty12", "sort_key = created_at_2024",
        "cache_key='user:123:profile'", "public_key = 'abc123def456ghi789'", "primary_key=id12345678",
        "monkey: banana42x",
        "encrypted: $2b$12$" + "abcdefghijklmnopqrstuv" + "a1" * 15, "author: jane1984", "secretary: anna1984",
        "passenger=42abcdef",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkq\n-----END CERTIFICATE-----",
        "pw = get_password(user1)", "get_password('service1')", "pass `verbose=1` to it", "tiktoken `cl100k_base`",
        "r'local|pwd|read|set1'", "def f(private_key: ed25519.Ed25519PrivateKey) -> None:",
        "publicKeyToken='1fc8b3b9a1e18e3b'", "ssh://687fb701029421ae5549d998@ssh.example", "version_pass = '%d.%d.%d'",
        "START = '-----BEGIN " + "PRIVATE KEY-----'\nEND = '-----END " + "PRIVATE KEY-----'",
        "t.FileBasedToken=t.CancelledTokenId=t.DefaultProvider=void 0", "(exports.Socks5Auth = Socks5Auth = {})",
        "this._token=c.CancellationToken.None}}function f(e)", "credentials = standard_b64encode(credentials)",
        "join(pwd, './data/pcg64dxsm-testset-1.csv')",
        '"unexpectedToken":"式の最後に予期しないトークンが含まれています"',
        'Authorization: OAuth realm="Example"', "url {host} login {self.user} password {self.password}",
        "token = r\"[-!#$%&'*+.^_`|~0-9a-zA-Z]+\"", "assertion_pass = call_assertion_pass_hook",
        "token = tokens[i1 + 23456]", "password=forms.CharField(max_length=128)",
        "label_password: Passwort", '"password": "Password"', '"password": "Mot de passe"',
        'autocomplete="current-password"',
        "the secret to a good life is sleep", "password: string;", "password?: string", "password: z.string().min(8)",
        "forgot-password", "reset_password_token_sent_at: 2024-01-02 03:04:05", "api_key_id=12345678", "apiKeys: []",
        "docker login -u me --password-stdin", "echo $PASSWORD | tool --password-stdin", "sk_buff->len",
        "hf_hub_download",
        "npm_config_registry=https://registry.npmjs.org", "SG.1", "key-value-store-1234567890abcdef",
        "xoxo-hugs-and-kisses",
    )  # fmt: skip


def test_look_alikes_pass_untouched() -> None:
    texts = list(dict.fromkeys(look_alikes()))
    assert len(texts) >= 1000
    redactor = Redactor()
    assert [(text, redactor.find(text)) for text in texts if redactor.find(text)] == []
    whole = "\n\n".join(texts)
    assert [whole[finding.start - 30 : finding.stop + 5] for finding in redactor.find(whole)] == []


def test_overlapping_findings_become_one_and_leave_nothing() -> None:
    redactor = Redactor()
    inner = "ghp_" + draw(36)
    text = f"password={inner}-tail99 next"
    got, findings = redactor.clean(text)
    assert got == "password=[redacted:password] next"
    assert findings == [Finding(9, 9 + len(inner) + 7, "password")]
    assert redactor.clean(f"https://oauth2:{inner}@gitlab.example.org/x.git")[0].count("[redacted:") == 1
    longer = Redactor(extra=[("digits", r"\d{8}"), ("card", r"\d{4,16}")])
    assert longer.clean("4111111111111111 x")[0] == "[redacted:card] x"


def test_the_outermost_names_the_finding_and_equal_spans_take_the_specific_kind() -> None:
    token = "ghp_" + draw(36)
    assert Redactor().clean(f"token = '{token}'")[0] == "token = '[redacted:github-token]'"


def test_a_mask_cannot_shelter_a_secret() -> None:
    got, _ = Redactor().clean("password = '[redacted:x]hunter2secret9'")
    assert "hunter2" not in got
    assert Redactor().find("password = '[redacted:password]'") == []


PIECES = st.sampled_from(
    [
        "password", "=", ": ", '"', "'", "\n", " ", "\\n", "ghp_" + "a1B2" * 9, "hunter2", "://", "@", "u:p@ss1",
        "token ", "é",
        "密", "\ud800", "Bearer ", "eyJhbGciOiJI.eyJzdWIiOiIx.abc_-", "-----BEGIN " + "PRIVATE KEY-----", "MIIE" * 8,
        ";", "&",
        "[redacted:password]", "AKIA" + "ABCD2345" * 2, "-----END " + "PRIVATE KEY-----", "api_key", "<", ">", "--",
        ",", "x1" * 9, "Tr0ub4dor-1", "**", "user bob ", "login", "pw ", "is ", " - ", "echo ", " | sudo -S", "zip -P ", "bob:",
        'auth=("a", "', "credentials", " for me", "correct horse battery staple", "WIFI:S:a;P:", " / ",
    ]
)  # fmt: skip
MESSY = st.lists(PIECES, max_size=14).map("".join) | st.text(max_size=60)


@given(MESSY)
@settings(max_examples=400, deadline=None)
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    once, _ = Redactor().clean(text)
    assert Redactor().clean(once) == (once, [])


@given(MESSY)
@settings(max_examples=300, deadline=None)
def test_findings_are_sorted_disjoint_and_rebuild_the_text(text: str) -> None:
    redactor = Redactor()
    got, findings = redactor.clean(text)
    assert all(0 <= a.start < a.stop <= len(text) for a in findings)
    assert all(a.stop <= b.start for a, b in itertools.pairwise(findings))
    assert findings == redactor.find(text)
    ref = text
    for finding in reversed(findings):
        ref = ref[: finding.start] + redactor.mask(finding) + ref[finding.stop :]
    assert got == ref


@given(st.lists(MESSY, max_size=12))
@settings(max_examples=150, deadline=None)
def test_a_batch_gives_what_single_texts_give(texts: list[str]) -> None:
    redactor = Redactor()
    ref = [(i, *redactor.clean(text)) for i, text in enumerate(texts) if redactor.find(text)]
    assert redactor.clean_batch(texts) == ref


def test_batches_of_every_size_and_texts_across_block_borders() -> None:
    redactor = Redactor()
    secret = "ghp_" + draw(36)
    assert redactor.clean_batch([]) == []
    assert redactor.clean_batch([""]) == []
    for size in (65530, 65536, 262140, 300000):
        texts = ["x" * 100, "lorem " * (size // 6) + secret, "", secret]
        assert [(i, len(f)) for i, _, f in redactor.clean_batch(texts)] == [(1, 1), (3, 1)]
    for offset in range(8):
        assert redactor.find(" " * (65530 + offset) + secret)[0].start == 65530 + offset


def test_lone_surrogates_and_wide_text_keep_their_offsets() -> None:
    secret = "ghp_" + draw(36)
    for lead in ("\ud800\udfff ", "日本語 ", "🙂🙂 ", "é" * 70000):
        got, (finding,) = Redactor().clean(lead + secret + lead)
        assert got == lead + "[redacted:github-token]" + lead
        assert finding.start == len(lead)


ADVERSARIAL = {
    "letters": "a" * 100_000,
    "equals": "=" * 100_000,
    "eyJ": "eyJ" * 30_000,
    "eyJ-": "eyJ-" * 25_000,
    "eyJ.": "eyJaaaaaaaa." * 8_000,
    "begin": "-----BEGIN " * 9_000,
    "begin key": ("-----BEGIN " + "PRIVATE KEY-----\n") * 3_500,
    "end key": ("-----END " + "PRIVATE KEY-----\n") * 3_500,
    "base64": "QUJD" * 25_000,
    "digits": "1" * 100_000,
    "key words": "password" * 12_000,
    "key words apart": "password " * 11_000,
    "assigned": "password=" * 11_000,
    "quoted": 'password="' * 10_000,
    "quotes": '"' * 100_000,
    "escapes": 'password="' + "\\" * 90_000,
    "escaped quotes": 'password="' + '\\"' * 45_000,
    "addresses": "a://b:" * 16_000,
    "ats": "a://" + "b:@" * 30_000,
    "curl": "curl -u " * 12_000,
    "mysql": "mysql -p" * 12_000,
    "login": "login -p" * 12_000,
    "sk": "sk-ant-" * 14_000,
    "gitlab": "glpat-" * 16_000,
    "dots": "a." * 50_000,
    "spaces": " " * 100_000,
    "newlines": "password:\n" * 10_000,
    "colons": "1:AA" * 25_000,
    "authorization": "authorization: " * 6_500,
    "aws": "AKIA" * 25_000,
    "fillers": "password: " + "key" * 33_000,
    "nul": "\0" * 100_000,
    "signature": "&sig=" * 20_000,
    "value": "secret value=" * 7_500,
    "tables": "|password|\n|---|\n" * 6_000,
    "rows": "| password |\n|---|\n" + "| a1b2c3d4 |\n" * 8_000,
    "cells": "|password" * 200 + "\n|---|\n" + "|a1b2c3d4" * 11_000,
    "changed": "password from " * 7_000,
    "pairs": "login: a / " * 9_000,
    "creds": "creds for a b: " * 6_500,
    "told": "token " + "a1" * 50_000,
    "told apart": "user a password A1b2C3d4 " * 4_000,
    "told a name": "password " + "Ab1" * 33_000,
    "owners": "password for a b c d e " * 4_300,
    "one owner": "password for " + "a " * 50_000,
    "accounts": "user " * 18_000 + "password a1b2c3d4",
    "options": "zip a " * 16_000 + "-P ",
    "arguments": "htpasswd -b " * 8_000,
    "pipes": "echo a | sudo -S " * 6_000,
    "echoes": "echo " * 60 + "|sudo -S " * 11_000,
    "net use": "net use " * 12_000,
    "code pairs": 'auth("a",' * 11_000,
    "wifi": "WIFI:" + "S:a;" * 25_000,
    "phrase": 'password="' + "word " * 20_000,
}


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_no_input_runs_away(name: str) -> None:
    redactor = Redactor()
    redactor.find("warm up")
    # the aim is 0.2 s, the bound leaves room for a slow machine: a pattern that runs away takes minutes
    best = next((took for _ in range(3) if (took := _seconds(redactor, ADVERSARIAL[name])) < 0.2), None)
    best = best or _seconds(redactor, ADVERSARIAL[name])
    assert best < 5.0, f"{name}: {best:.3f} s for 100 KB"


def _seconds(redactor: Redactor, text: str) -> float:
    start = time.process_time()
    redactor.find(text)
    return time.process_time() - start


def test_policies() -> None:
    secret = "ghp_" + draw(36)
    text = f"use {secret} now"
    for policy in ("mask", "skip"):
        assert Redactor(policy).clean(text)[0] == "use [redacted:github-token] now"
    got, findings = Redactor("allow").clean(text)
    assert got == text
    assert [finding.kind for finding in findings] == ["github-token"]
    assert Redactor("allow").clean_batch(["", text]) == [(1, text, findings)]
    some = Redactor(allow={"github-token"})
    assert some.clean(text) == (text, [])
    assert some.clean(f"{text} password='hunter2'")[0] == f"{text} password='[redacted:password]'"


def test_extra_patterns_join_the_table() -> None:
    redactor = Redactor(extra=[("staff-id", r"\bEMP-(\d{6})\b")])
    assert redactor.clean("EMP-123456 left")[0] == "EMP-[redacted:staff-id] left"
    assert redactor.clean_batch(["nothing", "EMP-123456"]) == [
        (1, "EMP-[redacted:staff-id]", [Finding(4, 10, "staff-id")])
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"policy": "drop"}, "policy"),
        ({"extra": [("Bad Kind", "x")]}, "kind"),
        ({"extra": [("a", "(")]}, "compile"),
        ({"extra": [("a", "x*")]}, "empty"),
        ({"allow": "jwt"}, "collection"),
    ],
)
def test_wrong_options_are_refused_with_a_reason(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        Redactor(**arguments)  # type: ignore[arg-type]


def test_metadata_is_cleaned_by_value_and_by_name() -> None:
    secret = draw(32)
    token = "ghp_" + draw(36)
    value = {
        "title": f"about {token}",
        "password": "hunter2",
        "api_key": secret,
        "nested": {"auth": {"token": secret}, "tags": ["a", token], "passwords": ["letmein1"]},
        "db": {"password": {"value": "hunter2"}},
        "password_hash": hashlib.md5(b"x").hexdigest(),
        "token_count": 12345678,
        "pwd": 12345678,
        "secret": "keep-it-simple",
        "pair": (1, None, True, 2.5),
        token: "as a name",
        7: "number as a name",
    }
    got, findings = Redactor().clean_value(value)
    flat = json.dumps(got)
    assert secret not in flat
    assert token not in flat
    assert "hunter2" not in flat
    assert "letmein1" not in flat
    assert got["pwd"] == "[redacted:password]"
    assert got["password_hash"] == value["password_hash"]
    assert (got["token_count"], got["secret"], got["pair"]) == (12345678, "keep-it-simple", [1, None, True, 2.5])
    assert len(findings) == 9
    assert value["password"] == "hunter2", "the input is not changed"
    assert Redactor().clean_value(got) == (got, [])


def test_names_that_become_equal_by_masking_keep_both_values() -> None:
    got, _ = Redactor().clean_value({"ghp_" + draw(36): 1, "ghp_" + draw(36): 2})
    assert sorted(got.values()) == [1, 2]


@pytest.mark.parametrize(
    "before", ["curl x -u ", "password = ", "Authorization: Bearer ", "--token ", "https://u:", 'secret: "']
)
def test_a_mask_is_never_masked_again(before: str) -> None:
    text = f"{before}[redacted:password] \\\n -d y"
    assert Redactor().clean(text) == (text, [])


FAST = settings(max_examples=60, deadline=None)
PLAIN = Redactor(extra=[("token", r"s3cr\w*")])


def test_a_masked_text_maps_positions_back_to_the_original() -> None:
    got = mask("a s3cret b s3cr3t c", PLAIN)
    assert got.text == "a [redacted:token] b [redacted:token] c"
    assert got.kinds == ("token", "token")
    assert [got.original(p) for p in (0, 2, 10, 18, 21, 37, 39)] == [0, 2, 2, 8, 11, 17, 19]
    assert [got.touches(*span) for span in ((0, 2), (0, 3), (17, 18), (18, 21), (30, 31))] == [
        False,
        True,
        True,
        False,
        True,
    ]


def test_without_redactor_or_with_allow_nothing_changes() -> None:
    assert mask("s3cret", None) == Masked("s3cret")
    assert mask("s3cret", Redactor("allow", extra=[("token", "s3cr")])) == Masked("s3cret")


@FAST
@given(st.text("s3cr \n", max_size=60))
def test_original_is_monotone_and_exact_outside_masks(text: str) -> None:
    got = mask(text, PLAIN)
    back = [got.original(p) for p in range(len(got.text) + 1)]
    assert back == sorted(back)
    assert back[-1] == len(text)
    inside = {p for start, stop in got.spans for p in range(start, stop)}
    for p, letter in enumerate(got.text):
        if p not in inside:
            assert text[back[p]] == letter
