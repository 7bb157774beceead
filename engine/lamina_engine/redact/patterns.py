"""Token patterns: kind, search literals and expression of each secret with a fixed shape.

Each row names literals of four characters that every match contains at a fixed distance from its start; the search
looks for those first and runs the expression only where one stands. Expressions are anchored at their start, bounded
or free of overlapping repeats, and case-sensitive. Where an expression has a group, the group is the secret and the
rest is context that stays.

Public halves stay readable on purpose: SSH and PGP public keys, certificates, publishable keys (``pk_live_``), account
and key ids that open nothing alone. Source of the shapes: the providers' announcements of their token formats.
"""

from __future__ import annotations

from base64 import b64encode
from itertools import product
from typing import NamedTuple

LEFT = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))"
"""No letter or digit before it, unless that ends an escape (``\\nghp_``, ``%3Dghp_``)."""
RIGHT = r"(?![A-Za-z0-9])"

_HEX = "0123456789abcdef"
_DIGITS = "0123456789"
_ALNUM = "abcdefghijklmnopqrstuvwxyz0123456789"


class Pattern(NamedTuple):
    """Shape of one kind of secret."""

    kind: str
    literals: tuple[str, ...]
    """Four ASCII characters each, without regard to case."""
    regex: str
    back: tuple[int, ...] = (0,)
    """Characters from the start of a match to its literal; each is tried."""
    gaps: bool = False
    """True if other than letters, digits and the signs of tokens may stand among the first characters of a match."""
    mixed: bool = False
    """True if the match must also look random: words joined by hyphens have the same shape."""


def _prefixed(kind: str, literals: str, body: str, *, back: int = 0, mixed: bool = False) -> Pattern:
    """Build the pattern of a token with borders on both sides; literals are separated by spaces."""
    return Pattern(kind, tuple(literals.split()), LEFT + body + RIGHT, (back,), mixed=mixed)


def _spread(prefix: str, characters: str) -> str:
    """Extend a prefix to the length of a literal by every continuation."""
    return " ".join(prefix + "".join(rest) for rest in product(characters, repeat=4 - len(prefix)))


_CODE_HOSTS = (
    _prefixed("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    _prefixed("github-token", "b_pa", r"github_pat_[A-Za-z0-9_]{22,255}", back=5),
    _prefixed(
        "gitlab-token",
        "glpa glpt glrt gldt glft glcb glim glso glff glag gloa",
        r"gl(?:pat|ptt|rt|dt|ft|cbt|imt|soat|ffct|agent|oas)-[A-Za-z0-9_-]{20,300}(?:\.[a-z0-9]{2}\.[a-z0-9]{9})?",
        mixed=True,
    ),
    _prefixed("gitlab-token", "gr13", r"GR1348941[A-Za-z0-9_-]{20,40}"),
    _prefixed("atlassian-token", "atat atct atbb", r"(?:ATATT3|ATCTT3|ATBB)[A-Za-z0-9_=-]{20,400}"),
    _prefixed("npm-token", "npm_", r"npm_[A-Za-z0-9]{30,64}"),
    _prefixed("pypi-token", "pypi", r"pypi-AgE[A-Za-z0-9_-]{20,1000}"),
    _prefixed("rubygems-token", "ems_", r"rubygems_[a-f0-9]{40,64}", back=5),
    _prefixed("crates-token", _spread("cio", _ALNUM), r"cio(?=[A-Za-z]{0,31}\d)[A-Za-z0-9]{32}"),
    _prefixed("docker-token", "dckr", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,100}"),
    _prefixed("artifactory-token", "akcp cmvm", r"(?:AKCp[A-Za-z0-9]{69}|cmVmd[A-Za-z0-9]{59})"),
    _prefixed("circleci-token", "ccip", r"CCI(?:PAT|PRJ)_[A-Za-z0-9_]{20,120}"),
    _prefixed("buildkite-token", "bkua", r"bkua_[a-z0-9]{40}"),
    _prefixed("sourcegraph-token", "sgp_", r"sgp_(?:[A-Za-z0-9]{16}_|local_)?[a-f0-9]{40}"),
)

_CLOUDS = (
    _prefixed("aws-access-key", "akia asia abia acca", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    _prefixed("aws-bedrock-key", "absk", r"ABSK[A-Za-z0-9+/]{24,400}={0,2}"),
    Pattern("azure-devops-token", ("azdo",), LEFT + r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}" + RIGHT, (76,)),
    _prefixed("google-api-key", "aiza", r"AIza[A-Za-z0-9_-]{35,39}"),
    _prefixed("google-token", "ya29", r"ya29\.[A-Za-z0-9_-]{20,2000}"),
    _prefixed("google-token", "1//0", r"1//0[A-Za-z0-9_-]{20,200}", mixed=True),
    _prefixed("google-client-secret", "gocs", r"GOCSPX-[A-Za-z0-9_-]{20,60}"),
    Pattern("firebase-token", (":apa",), r"[A-Za-z0-9_-]{11}:APA91b[A-Za-z0-9_-]{100,200}", (11,)),
    Pattern(
        "azure-client-secret",
        tuple(f"{digit}q~{rest}" for digit, rest in product(_DIGITS, _ALNUM + "_~.-")),
        r"(?:(?<![A-Za-z0-9_~.-])|(?<=\\[nrt]))[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])",
        (3,),
    ),
    Pattern("azure-signature", ("sig=",), r"(?<=[?&;])sig=([A-Za-z0-9%+/=_-]{20,200})"),
    Pattern(
        "azure-function-key",
        ("azur",),
        r"azurewebsites\.net/[^\s?]{0,200}\?(?:[^\s]{0,200}&)?code=([A-Za-z0-9_/+%=-]{40,100})",
        gaps=True,
    ),
    Pattern("aws-signature", ("z-si",), r"(?<=[?&]X-Am)z-Signature=([0-9a-f]{64})"),
    _prefixed("digitalocean-token", "dop_ doo_ dor_", r"do[por]_v1_[a-f0-9]{64}"),
    _prefixed("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    _prefixed("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[A-Za-z0-9_-]{20,400}", mixed=True),
    Pattern("terraform-token", (".atl",), LEFT + r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{30,100}", (14,)),
    _prefixed("scaleway-access-key", _spread("scw", _ALNUM), r"SCW[A-Z0-9]{17}", mixed=True),
    _prefixed("alibaba-access-key", "ltai", r"LTAI[A-Za-z0-9]{12,24}", mixed=True),
    _prefixed("tencent-secret-id", "akid", r"AKID[A-Za-z0-9]{32}"),
    _prefixed("cloudflare-key", "v1.0", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,200}"),
    _prefixed("heroku-key", "hrku", r"HRKU-[A-Za-z0-9_-]{36,80}"),
    _prefixed("fly-token", "fo1_ fm1r fm2_", r"(?:fo1_[A-Za-z0-9_-]{43}|fm[12]r?_[A-Za-z0-9+/]{60,2000}=*)"),
    _prefixed("planetscale-token", "psca", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,80}"),
    _prefixed("supabase-token", "sbp_ sb_s", r"(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,80})"),
    _prefixed("netlify-token", "nfp_", r"nfp_[A-Za-z0-9]{36,60}"),
    _prefixed("vercel-token", "vcp_ vci_ vca_ vcr_", r"vc[piar]_[A-Za-z0-9]{24,80}"),
    _prefixed("tailscale-key", "tske", r"tskey-[a-z]{2,12}-[A-Za-z0-9]{6,40}(?:-[A-Za-z0-9]{10,60})?", mixed=True),
    _prefixed("openshift-token", "sha2", r"sha256~[A-Za-z0-9_-]{43}"),
    _prefixed("pulumi-token", "pul-", r"pul-[a-f0-9]{40}"),
    _prefixed(
        "doppler-token", "dp.p dp.s dp.c", r"dp\.(?:pt|st|ct|scim|sa)\.(?:[a-z0-9_-]{1,40}\.)?[A-Za-z0-9]{40,44}"
    ),
)

_MESSAGES = (
    _prefixed(
        "slack-token", _spread("xox", "abcdeoprs"), r"xox[a-eoprs](?:\.xox[bp])?-[A-Za-z0-9%-]{10,400}", mixed=True
    ),
    _prefixed("slack-token", "xapp", r"xapp-\d-[A-Za-z0-9-]{20,200}"),
    Pattern(
        "slack-webhook",
        ("slac",),
        r"(?<=hooks\.)slack(?:-gov)?\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_+-]{12,200})",
    ),
    Pattern(
        "discord-webhook",
        ("hook",),
        r"(?:(?<=discord\.com/api/)|(?<=discordapp\.com/api/)|(?<=/api/v\d/)|(?<=/api/v\d\d/))webhooks/(\d{10,20}/[A-Za-z0-9_-]{30,100})",
        (3,),
    ),
    Pattern("teams-webhook", ("k.of",), r"(?<=webhoo)k\.office\.com/webhookb2/([A-Za-z0-9@/_-]{36,300})"),
    Pattern(
        "telegram-token",
        tuple(f"{digit}:aa" for digit in _DIGITS),
        r"(?<!\d)\d{6,12}:AA[A-Za-z0-9_-]{32,40}(?![A-Za-z0-9_-])",
        tuple(range(5, 12)),
    ),
    Pattern(
        "discord-token",
        # the first part is the bot's number in base64, so it begins with one of a thousand groups of three digits
        tuple(sorted({b64encode(f"{n:03}".encode()).decode() for n in range(100, 1000)})),
        LEFT + r"[MNO][A-Za-z0-9]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}" + r"(?![A-Za-z0-9_-])",
    ),
    _prefixed("ntfy-token", _spread("tk_", _ALNUM), r"tk_[A-Za-z0-9]{24,32}", mixed=True),
    _prefixed("twilio-key", _spread("sk", _HEX), r"SK[0-9a-f]{32}"),
    _prefixed("sendgrid-key", _spread("sg.", _ALNUM + "_-"), r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    _prefixed("resend-key", _spread("re_", _ALNUM), r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}", mixed=True),
    _prefixed("mailgun-key", "key-", r"key-[0-9a-f]{32}"),
    Pattern("mailchimp-key", tuple(f"-us{d}" for d in "123456789"), LEFT + r"[0-9a-f]{32}-us\d{1,2}" + RIGHT, (32,)),
    _prefixed("brevo-key", "xkey", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
)

_MODELS = (
    _prefixed("anthropic-key", "sk-a", r"sk-ant-[A-Za-z0-9_-]{20,300}", mixed=True),
    _prefixed(
        "openai-key", "sk-p sk-s sk-a sk-n", r"sk-(?:proj|svcacct|service|admin|None)-[A-Za-z0-9_-]{20,300}", mixed=True
    ),
    _prefixed("openrouter-key", "sk-o", r"sk-or-v\d-[a-f0-9]{40,80}"),
    _prefixed("langfuse-key", "sk-l", r"sk-lf-[a-f0-9]{8}-[a-f0-9-]{27}"),
    _prefixed("openai-key", _spread("sk-", _ALNUM), r"sk-(?=[A-Za-z]{0,63}\d)[A-Za-z0-9]{20,64}"),
    _prefixed("huggingface-token", _spread("hf_", _ALNUM), r"hf_[A-Za-z0-9]{30,64}"),
    _prefixed("huggingface-token", "api_", r"api_org_[A-Za-z0-9]{34}"),
    _prefixed("nvidia-key", "nvap", r"nvapi-[A-Za-z0-9_-]{60,80}"),
    _prefixed("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,60}"),
    _prefixed("xai-key", "xai-", r"xai-[A-Za-z0-9]{70,90}"),
    _prefixed("perplexity-key", "pplx", r"pplx-[A-Za-z0-9]{40,60}"),
    _prefixed("replicate-token", _spread("r8_", _ALNUM), r"r8_[A-Za-z0-9]{37,40}"),
    _prefixed("langsmith-key", "lsv2", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    _prefixed("fireworks-key", _spread("fw_", _ALNUM), r"fw_(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{22,24}"),
    _prefixed("tavily-key", "tvly", r"tvly-(?:dev-|prod-)?[A-Za-z0-9-]{24,64}", mixed=True),
    Pattern("wandb-key", ("wand",), r"wandb login (?:--\w{1,20}[ =])?([0-9a-f]{40})(?![0-9a-f])", gaps=True),
    _prefixed("pinecone-key", "pcsk", r"pcsk_[A-Za-z0-9_]{40,80}"),
)

_PAYMENTS = (
    _prefixed("stripe-key", "sk_l sk_t sk_p rk_l rk_t rk_p", r"[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,250}"),
    _prefixed("stripe-webhook-secret", "whse", r"whsec_[A-Za-z0-9+/]{24,100}={0,2}"),
    _prefixed("shopify-token", "shpa shpc shpp shps", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _prefixed("square-token", "sq0a sq0c sq0i", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,64}"),
    _prefixed("square-token", "eaaa", r"EAAA[A-Za-z0-9_-]{60}"),
    _prefixed("facebook-token", "eaac eaab eaad eaag", r"EAA[A-Z][A-Za-z0-9]{60,400}"),
    _prefixed("paypal-token", "ken$", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}", back=9),
    _prefixed("plaid-token", "ss-s ss-d ss-p", r"access-(?:sandbox|development|production)-[0-9a-f-]{36}", back=4),
    _prefixed("flutterwave-key", "flws", r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,40}(?:-X)?"),
    _prefixed("easypost-key", "ezak eztk", r"EZ[AT]K[A-Za-z0-9]{54}"),
    _prefixed("shippo-token", "ppo_", r"shippo_(?:live|test)_[a-fA-F0-9]{40}", back=3),
    _prefixed("duffel-token", "duff", r"duffel_(?:test|live)_[A-Za-z0-9_=-]{43}"),
)

_SERVICES = (
    _prefixed("linear-key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,80}"),
    _prefixed("notion-token", "ntn_", r"ntn_[A-Za-z0-9]{40,60}"),
    _prefixed("notion-token", "secr", r"secret_(?=[A-Za-z]{0,42}\d)[A-Za-z0-9]{43}"),
    _prefixed("sentry-token", "sntr", r"sntry[su]_[A-Za-z0-9+/=_-]{40,400}"),
    _prefixed("grafana-token", "glsa glc_", r"(?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,400}={0,2})"),
    _prefixed("newrelic-key", "nrak nraa nrii nrjs", r"NR(?:AK|AA|II|JS)-[A-Za-z0-9_-]{19,60}", mixed=True),
    Pattern(
        "honeycomb-key",
        ("b-te",),
        r"(?<=[Hh]oneycom)b-team[\"']?\s{0,3}[:=,]\s{0,3}[\"']?([A-Za-z0-9_]{20,64})(?![A-Za-z0-9])",
        gaps=True,
    ),
    _prefixed(
        "launchdarkly-key",
        "sdk- api-",
        r"(?:sdk|api)-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    ),
    _prefixed("sonar-token", "squ_ sqa_ sqp_", r"sq[uap]_[a-f0-9]{40}"),
    Pattern(
        "ngrok-token",
        ("htok",),
        r"(?<=aut)htoken[ ]{1,4}(?=[A-Za-z]{0,40}\d)([A-Za-z0-9_]{40,60})(?![A-Za-z0-9])",
        gaps=True,
    ),
    _prefixed("dynatrace-token", "dt0c", r"dt0c\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _prefixed("postman-key", "pmak", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _prefixed("airtable-token", _spread("pat", _ALNUM), r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _prefixed("figma-token", "figd", r"figd_[A-Za-z0-9_-]{20,80}"),
    _prefixed("mapbox-token", "sk.e", r"sk\.eyJ[A-Za-z0-9_-]{20,300}\.[A-Za-z0-9_-]{20,60}"),
    _prefixed("dropbox-token", _spread("sl.", _ALNUM), r"sl\.[A-Za-z0-9_-]{100,2000}"),
    _prefixed("contentful-token", "cfpa", r"CFPAT-[A-Za-z0-9_-]{40,60}"),
    _prefixed("typeform-token", "tfp_", r"tfp_[A-Za-z0-9_.=-]{40,80}"),
    _prefixed("readme-key", "rdme", r"rdme_[a-z0-9]{70}"),
    _prefixed("prefect-key", "pnu_", r"pnu_[A-Za-z0-9]{36}"),
    _prefixed("onepassword-token", "ops_", r"ops_eyJ[A-Za-z0-9+/]{100,2000}={0,3}"),
    _prefixed("onepassword-key", _spread("a3-", _ALNUM), r"A3-[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}(?:-[A-Z0-9]{5}){3}"),
    _prefixed("age-secret-key", "age-", r"AGE-SECRET-KEY-1[A-Z0-9]{20,80}"),
    _prefixed("wallet-key", "xprv", r"[xyzt]prv[A-Za-z0-9]{100,112}"),
    Pattern("zapier-webhook", ("s.za",), r"(?<=hook)s\.zapier\.com/hooks/catch/(\d{3,12}/[A-Za-z0-9]{5,20})"),
)

_ENCODED = (
    # a header that decodes to an object, then at least one more part; encrypted tokens have five, the third often empty
    Pattern(
        "jwt",
        tuple(_spread("eyj", _ALNUM + "_-").split()),
        LEFT + r"eyJ[A-Za-z0-9_-]{8,1500}\.eyJ[A-Za-z0-9_-]{6,16000}(?:\.[A-Za-z0-9_-]{0,4000})?",
    ),
    Pattern(
        "jwk-private-key",
        ('"d":', '"k":', '"p":', '"q":'),
        r'"[dkpq]":\s{0,4}"([A-Za-z0-9_-]{40,2000}={0,2})"',
        gaps=True,
    ),
    Pattern("pgpass", ("5432",), r"5432:[^:\s]{1,80}:[^:\s]{1,80}:([^\s:]{4,200})(?=\s|\Z)", gaps=True),
)

PATTERNS: tuple[Pattern, ...] = (*_CODE_HOSTS, *_CLOUDS, *_MESSAGES, *_MODELS, *_PAYMENTS, *_SERVICES, *_ENCODED)
"""All rows, in the order in which a kind wins over another for the same span."""
