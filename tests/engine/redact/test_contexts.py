"""Passwords as people say them, and as programs and command lines take them; `{}` is where one stands."""

from __future__ import annotations

import itertools

import pytest

from lamina_engine.redact import search
from lamina_engine.redact.redactor import Redactor

PASSWORDS = ("Tr0ub4dor-1", "Kx4fuchs9T", "gR7-kelpie-22x", "Herbst#Wind22")
SAID = (
    "log in with user harbor and password {}",
    "log in with user harbor, password {}",
    "login: bob, password {}",
    "use password {} for the admin account",
    "admin password {}",
    "the jenkins password {} expires on Friday",
    "unlock the backup with the passphrase {}.",
    "password - {}",
    "password \u2192 {}",
    "the password **{}** works",
    "mot de passe {}",
    "the root pw for db01 is {}",
    "pw is {}",
    "pw: {}",
    "(pw {})",
    "my pass is {}",
    "the pwd is {}",
    "wpa-psk {}",
    "password of the user bob on db01.example.org is {}",
    "password for bob: {}",
    "password (root): {}",
    "the password has been changed to {}",
    "the password was reset to {}",
    "the password will be {} from Monday on",
    "Login mit Benutzer bob und Passwort {}",
    "mit dem Passwort {} anmelden",
    "Passwort ist jetzt {}",
    "Passwort auf {} ge\xe4ndert.",
    "Das neue Kennwort hei\xdft {}.",
    "Kennwort (Router): {}",
    "Passwort f\xfcr bob: {}",
    "Das Passwort von Lena auf dem NAS lautet nun {}.",
    "Zugangsdaten: bob / {}",
    "Zugangsdaten f\xfcrs Wiki: bob:{}",
    "Anmeldedaten lauten bob / {}",
    "the creds are bob/{}",
    "login bob:{}",
    "the password ({}) works",
    "the password should now be {}",
    "Passwort lautet wie folgt: {}",
    "Der Zugangscode ist {}",
    "log in with user harbor and password\n{} to see it",
    "> the password of the staging server is\n> {}, ask Bob",
    "user\nbob\npassword\n{}\n",
    "The password is:\n\n```\n{}\n```\n",
    "Das Passwort lautet:\r\n\r\n{}\r\n",
)
WRITTEN = (
    'requests.get(u, auth=("bob","{}"))',
    "session.auth = ('bob', '{}')",
    'httpx.get(u, auth=httpx.BasicAuth("bob", "{}"))',
    'req.SetBasicAuth("bob", "{}")',
    'axios.get(u, {{ auth: ["bob", "{}"] }})',
    "smtp.login('bob@example.org', '{}')",
    'pika.PlainCredentials("bob", "{}")',
    '{{"auth": ["bob", "{}"]}}',
    "WIFI:T:WPA;S:net;P:{};;",
)
COMMANDS = (
    'echo "bob:{}" | chpasswd',
    "printf 'bob:{}\\n' | sudo chpasswd",
    '{{"cmd": "echo \\"bob:{}\\" | sudo chpasswd"}}',
    'chpasswd <<< "bob:{}"',
    "chpasswd <<EOF\nbob:{}\nEOF\n",
    "echo {} | sudo -S apt update",
    "echo -n '{}' | docker login ghcr.io -u bob --password-stdin",
    "echo {} | passwd --stdin bob",
    "echo {} | gpg --batch --passphrase-fd 0 -d f",
    "sudo -S <<< {}",
    "echo {} | sudo --stdin true",
    "echo '{}' | kinit bob",
    "zip -r -P {} out.zip dir",
    "unzip -P{} in.zip",
    "mc alias set s3 https://x bob {}",
    "schtasks /create /ru bob /rp {}",
    "unzip -o -P '{}' in.zip",
    "7z a -t7z -mhe=on -p{} out.7z dir",
    "rar a -hp{} out.rar dir",
    "ldapsearch -x -D cn=a -w {} -b dc=x",
    '{{"command": "ldapadd -D cn=a -w \\"{}\\" -f x.ldif"}}',
    "smbclient -U bob%{} //h/s",
    "smbclient //h/s -U 'CORP\\bob%{}'",
    "htpasswd -bc f bob {}",
    "htpasswd -nbB bob {}",
    "net use Z: \\\\h\\s /user:bob {}",
    "NET USE \\\\h\\s {} /USER:bob",
    "net user bob {} /add",
    "mosquitto_pub -u bob -P {} -t a",
    "rabbitmqctl add_user bob {}",
    "rabbitmqctl -n rabbit@h change_password bob {}",
    "openssl enc -d -aes256 -in f -k {}",
    "mongosh --host h -u bob -p {}",
    "sqlcmd -S h -U sa -P {}",
    "sqlplus bob/{}@db",
    "lftp -u bob,{} h",
    "ipmitool -H h -U bob -P {} chassis status",
    "xfreerdp /u:bob /p:{} /v:h",
    "rdesktop -u bob -p {} h",
    "psexec \\\\h -u bob -p {} cmd",
    "plink -ssh -pw {} h",
    "ssh-keygen -t ed25519 -N {}",
    "keytool -list -keystore k.jks -storepass {}",
    "cqlsh -u bob -p {}",
    "useradd -p {} bob",
    "wpa_passphrase net {}",
    "snmpwalk -v3 -u bob -A {} h",
    "snmpwalk -v3 -u bob -X {} h",
    "nmcli dev wifi connect net password {}",
)
ACCOUNTS = (
    "username bob password hunter22",
    "user: bob, password Firecrest7",
    "with user bob and pass Firecrest7",
    "user bob, pwd hunter22",
    "user=bob pass hunter22",
    "logged in as bob, password Firecrest7",
    "account deploy@corp.example / password Firecrest7",
    "ssh login bob, password Firecrest7",
    "Benutzer bob mit Passwort Sommer2024",
    "Zugangsdaten sind bob / Sommer2024",
)
PHRASES = (
    'password: "{}"\n',
    '{{"password": "{}", "port": 1}}',
    "password = '{}'",
    'DB_PASSWORD="{}"\n',
    'my wifi password is "{}"',
)


@pytest.mark.parametrize("form", [*SAID, *WRITTEN, *COMMANDS])
def test_a_password_is_masked_where_one_is_told(form: str) -> None:
    redactor = Redactor()
    for password in PASSWORDS:
        got, _ = redactor.clean(form.format(password))
        assert got == form.format("[redacted:password]")
        assert redactor.clean(got) == (got, []), "a mask is stable"


@pytest.mark.parametrize("form", ["credentials are bob:{}", "credentials: bob:{}"])
def test_credentials_are_masked_with_the_name_or_without(form: str) -> None:
    for password in PASSWORDS:
        assert password not in Redactor().clean(form.format(password))[0]


@pytest.mark.parametrize("text", ACCOUNTS)
def test_beside_an_account_a_word_and_a_number_are_a_password(text: str) -> None:
    got, (finding,) = Redactor().clean(text)
    assert got == text[: finding.start] + "[redacted:password]"
    assert finding.start == max(text.rfind(" "), text.rfind("/")) + 1


@pytest.mark.parametrize("form", PHRASES)
@pytest.mark.parametrize(
    "phrase", ["correct horse battery staple", "seven odd badgers 41", "Violet Pencil Orbit Canyon"]
)
def test_a_quoted_phrase_of_words_is_a_password(form: str, phrase: str) -> None:
    assert Redactor().clean(form.format(phrase))[0] == form.format("[redacted:password]")


def test_a_phrase_with_a_number_is_a_password_in_a_shell() -> None:
    assert Redactor().clean('DB_PASSWORD="my secret phrase 12"')[0] == 'DB_PASSWORD="[redacted:password]"'


SQL = (
    "CREATE USER app IDENTIFIED BY '{}';",
    "alter user 'app'@'%' identified by '{}'",
    "Grant all on shop.* to 'app'@'localhost' identified by \"{}\" with grant option",
    "create user app@'10.%'\n        identified\n            by '{}'",
    "create user if not exists app identified with caching_sha2_password by '{}'",
    "create user a identified by 'moonlight', b@'%' identified by '{}'",
    'create public database link shop connect to scott identified by "{}"',
    'sql = "create user app "\n    "identified by \'{}\'"',
    '{{"query": "alter user root identified by \\"{}\\""}}',
    "    'app'@'%' IDENTIFIED BY '{}',",
)
PASS = (
    'user: ada\npass: "{}"',
    '{{"pass": "{}", "host": "db"}}',
    'auth: {{ user: "ada", pass: "{}" }}',
    'db_pass: "{}"',
)


@pytest.mark.parametrize("form", [*SQL, *PASS])
@pytest.mark.parametrize("password", [*PASSWORDS, "sunshine"])
def test_a_word_is_a_password_in_a_statement_or_beside_an_account(form: str, password: str) -> None:
    got, findings = Redactor().clean(form.format(password))
    assert password not in got
    assert got.count("[redacted:password]") == len(findings) == 1 + ("moonlight" in form)


def test_quotes_of_a_command_hold_several_words() -> None:
    got, _ = Redactor().clean('zip -r -P "blue moon rises" out.zip dir')
    assert got == 'zip -r -P "[redacted:password]" out.zip dir'


def test_both_keys_of_a_command_are_masked() -> None:
    got, _ = Redactor().clean("snmpwalk -v3 -u bob -A Kx4fuchs9T -X Herbst#Wind22 h")
    assert got == "snmpwalk -v3 -u bob -A [redacted:password] -X [redacted:password] h"


HARMLESS = r"""
The password field uses PBKDF2WithHmacSHA256 and AES256GCM.
Hash every password with Argon2id before saving.
password OAuth2PasswordBearer is a class
The login page and password Reset2FA flow broke.
Use password SHA256 and salt.
user name and password UserNameToken1
log in with user name and password (see RFC7617).
login with user and password via LDAPv3
Passwort Manager 1Password ist gut.
password Base64UrlEncoder, password TLSv1.3-PSK, password iPhone15ProMax
password MySQL8.0.33-debug, password CVE-2024-12345, password NIST-SP800-63B
Set the password PasswordField2 to required.
the password policy Policy2024Q3
the password Firecrest, and the password of Firecrest
password k8s-secret and password i18n-key
password is valid!
The password was wrong!
Das Passwort ist falsch! Das Passwort auf Server1 ist falsch.
the password will be denied\&.
We pass INSTALLDIRS=site and pass import_hook=True.
machine example.com password 123456
ftp.login() # user anonymous, passwd anonymous@
ftp.login("anonymous", '-anonymous@')
default login anonymous password user@site
grep git /etc/passwd \fB(1)\fR
grep root /etc/passwd Root1User2x
function _vim_sync_PWD --on-variable=PWD
Enter passphrase for key '/home/x/.ssh/id_ed25519':
password for the admin account is stored in Vault
Password for https://example.org:
password (optional): string
credentials: host:8080
credentials are arn:aws:iam::123456789012:role/MyRole1
creds are module:ClassName2
login: see docs/Login2.md
Logins: 10:15pm
requests.get(u, auth=("user", "pass")), auth=(user, password)
BasicAuth("username", "password")
page.login("admin", "/dashboard/Home1"); client.login("github", "redirect")
zip the files, then -P is the option for them
the zip -P option asks for one
make zip && mvn -Pproduction
7z a out.7z dir && ssh -p2222 host
sshpass -f secret.txt ssh -p 2222 host
openssl enc -aes-256-cbc -K $KEY -iv $IV
openssl req -newkey rsa:2048 -keyout Key1.pem
ldapsearch -x -W -D cn=admin
mongosh -u lena -p --host db1
htpasswd -c /etc/nginx/.htpasswd lena
htpasswd -bc file user $PASSWORD
net use Z: \\nas\Share1 /persistent:yes
net use \\nas\Share1 /user:lena /persistent:yes
net user lena /delete
echo "$PASSWORD" | sudo -S true
echo "Hello World1" | sudo tee /etc/motd
cat file | docker login --password-stdin
WIFI:T:nopass;S:guest;;
rabbitmqctl add_vhost Shop1
password: "Please enter a new one"
"password": "enter your password again"
password: "must be eight characters"
"password": "neues kennwort bitte eingeben"
PASSWORD_LABEL="choose a good one"
pw is short for password, and the pw field in Table2Row
pass is a keyword in Python3
pwd is the working directory
pass Firecrest7 to it, and let the user pass Firecrest7 on
the password (OAuth2) and the password (min8Chars)
login failed:Something2
credentials src/Provider2Config
the commits identified by "squash" commands are melded into the one above
Each device is identified by 'serial number', each site identified by 'postal code'.
Das Gerät wird durch das Etikett "identified by 'Seriennummer'" bestimmt.
create a user that is identified by 'serial number'
We grant access to devices identified by 'serial number'.
create user app identified by '${DB_PASSWORD}'
pass: "tested"
{"fail": "broken", "pass": "tested"}
Second pass: "editing"; pass: 'bestanden'
""".strip().split("\n")


WRAPPED = (
    "the password\nOAuth2PasswordBearer is a class",
    "change the password\n\n```python\nimport Settings2\n```\n",
    "password:\n  secretKeyRef:\n    name: App1Secrets\n",
    "passphrase:\nsome words follow here\n",
    "the password is\nrequired, and the token is\nrequired2",
    "password\n'Settings2'\n",
    "1. the password\n2. MFA2Device\n",
    "Password:\n- at least 8chars\n- one Uppercase1Letter\n",
)


@pytest.mark.parametrize("text", [*HARMLESS, *WRAPPED])
def test_what_is_no_password_stays(text: str) -> None:
    assert Redactor().clean(text) == (text, [])


def test_a_batch_masks_what_each_text_alone_does() -> None:
    forms = [form.format(password) for form, password in itertools.product((*SAID, *WRITTEN, *COMMANDS), PASSWORDS)]
    search.load_kernel().join()
    texts = [*forms, *ACCOUNTS, *HARMLESS]
    assert [text for _, text, _ in Redactor().clean_batch(texts)] == [
        Redactor().clean(text)[0] for text in [*forms, *ACCOUNTS]
    ]


@pytest.mark.parametrize(
    "text",
    [
        "| user | password\n|---|---\n| ann | Heron7lake\n| bob | `Kestrel_99`\n",
        "| Konto | Passwort |\n| :-- | --- |\n| ann | Heron7lake |\n",
        "BORG_PASSPHRASE=violet pencil orbit canyon\nborg create x\n",
        "passphrase: violet pencil orbit canyon\nnext line\n",
        "password: |\n  Heron7lake\nhost: db\n",
        'password:\n  "Heron7lake"\nhost: db\n',
        "Das Passwort lautet\nHeron7lake\n",
    ],
)
def test_windows_line_ends_hide_no_password(text: str) -> None:
    redactor = Redactor()
    ref, got = redactor.clean(text)[0], redactor.clean(text.replace("\n", "\r\n"))[0]
    assert "[redacted:password]" in ref
    assert got == ref.replace("\n", "\r\n")
