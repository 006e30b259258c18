"""Pure. The table of credential kinds: how each looks, and a string that every one of it contains.

Facts about prefixes and lengths follow the public rule sets of gitleaks, detect-secrets and the
issuers' own documentation. A rule needs a prefix with a left boundary, or words around it: random
looking text alone is no credential. Patterns are linear: bounded, no nested quantifiers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class CredentialRule:
    """`kind` names it in the marker; group `secret`, where there is one, is what is withheld."""

    kind: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]


# No letter before a prefix, but for one that belongs to an escape: `\n`, `%0A`.
_LEFT: Final = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))"
_RIGHT: Final = r"(?![A-Za-z0-9_-])"


def _rule(kind: str, needles: str, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> CredentialRule:
    return CredentialRule(kind, tuple(needles.split(" ")), re.compile(pattern, flags))


def _token(kind: str, needles: str, body: str) -> CredentialRule:
    return _rule(kind, needles, f"{_LEFT}(?:{body}){_RIGHT}")


RULES: Final[tuple[CredentialRule, ...]] = (
    # Key material
    _token("age-key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    # Clouds
    _token("aws-access-key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    _token("google-api-key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    _token("google-oauth-secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    _token("google-oauth-token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,1000}"),
    _rule(
        "azure-storage-key", "AccountKey=", r"AccountKey=(?P<secret>[A-Za-z0-9+/]{60,100}={0,2})"
    ),
    _rule("azure-client-secret", "Q~", r"(?<![\w~.-])[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    _token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _token("alibaba-key", "LTAI", r"LTAI[A-Za-z0-9]{17,21}"),
    _token("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    _token("fly-token", "fo1_ fm2_", r"(?:fo1_[A-Za-z0-9_-]{43}|fm2_[A-Za-z0-9+/=]{100,1000})"),
    _token("netlify-token", "nfp_", r"nfp_[A-Za-z0-9]{36}"),
    _token("supabase-token", "sbp_ sb_secret_", r"sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,60}"),
    _token("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9=._-]{32,64}"),
    _token("vault-token", "hvs. hvb.", r"hv[sb]\.[A-Za-z0-9_-]{24,300}"),
    _token("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"),
    _token("pulumi-token", "pul-", r"pul-[a-f0-9]{40}"),
    _token("doppler-token", "dp.pt. dp.st.", r"dp\.(?:pt|st\.\w{1,40})\.[A-Za-z0-9]{40,44}"),
    # Code hosts and package registries
    _token(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}",
    ),
    _token(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glsoat- glagent- gloas-",
        r"gl(?:pat|dt|rt|cbt|ptt|soat|agent|oas)-[A-Za-z0-9_.-]{20,255}",
    ),
    _token("bitbucket-token", "ATBB ATCTT3", r"ATBB[A-Za-z0-9]{32}|ATCTT3[A-Za-z0-9_=-]{100,300}"),
    _token("atlassian-token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{100,300}"),
    _token("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _token("pypi-token", "pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{50,1000}"),
    _token("rubygems-token", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    _token("crates-token", "cio", r"cio[A-Za-z0-9]{32}"),
    _token("docker-token", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[A-Za-z0-9_-]{27,32}"),
    _token("nuget-key", "oy2", r"oy2[a-z0-9]{43}"),
    # Model providers
    _token("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{24,200}"),
    _token("openrouter-key", "sk-or-", r"sk-or-v1-[a-f0-9]{64}"),
    _token(
        "openai-key",
        "sk-",
        r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,250}"
        r"|sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"
        r"|sk-(?=[A-Za-z]{0,40}[0-9])(?=[0-9a-z]{0,40}[A-Z])[A-Za-z0-9]{32,64}",
    ),
    _token("model-key", "sk-", r"sk-[a-f0-9]{32}(?:[a-f0-9]{16,32})?"),
    _token(
        "huggingface-token", "hf_", r"hf_[A-Za-z]{34}|hf_(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{34,40}"
    ),
    _token("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}"),
    _token("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,60}"),
    _token("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,60}"),
    _token("xai-key", "xai-", r"xai-[A-Za-z0-9]{60,100}"),
    _token("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    # Chat and mail
    _token(
        "slack-token",
        "xox xapp- xoxe.",
        r"xox[abeoprs]-(?:[A-Za-z0-9]{1,20}-){0,4}[A-Za-z0-9-]{10,250}"
        r"|xapp-\d-[A-Z0-9]{8,14}-\d{8,16}-[a-f0-9]{60,70}|xoxe\.xox[bp]-\d-[A-Za-z0-9]{100,300}",
    ),
    _rule(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_-]{20,120})",
    ),
    # The only sign is a dot, so most texts are searched: to begin with three letters is fast.
    _rule(
        "discord-token",
        ".",
        r"[MNO](?:(?<![A-Za-z0-9_-].)|(?<=\\[nrt].)|(?<=%[0-9A-F]{2}.))[A-Za-z0-9_-]{23,27}"
        r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}" + _RIGHT,
    ),
    _rule(
        "discord-webhook",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/\d{15,22}/(?P<secret>[A-Za-z0-9_-]{40,80})",
    ),
    _token("telegram-token", ":AA", r"\d{8,10}:AA[A-Za-z0-9_-]{33}"),
    _token("twilio-key", "SK", r"SK[a-f0-9]{32}"),
    _token("sendgrid-key", "SG.", r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    _token("mailgun-key", "key-", r"key-[a-f0-9]{32}"),
    _token("mailchimp-key", "-us", r"[a-f0-9]{32}-us\d{1,2}"),
    _token("resend-key", "re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,32}"),
    # Payment and commerce
    _token(
        "stripe-key",
        "_live_ _test_ whsec_",
        r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,250}|whsec_[A-Za-z0-9+/=]{24,80}",
    ),
    _token(
        "square-token",
        "sq0 EAAA",
        r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,50}|EAAA[A-Za-z0-9_-]{60,64}",
    ),
    _token(
        "paypal-token",
        "access_token$",
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}",
    ),
    _token("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    # Work tools and monitoring
    _token("linear-key", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{40,64}"),
    _token("notion-token", "ntn_ secret_", r"ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43}"),
    _token("figma-token", "figd_", r"figd_[A-Za-z0-9_-]{40,60}"),
    _token("postman-key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _token("newrelic-key", "NRAK- NRII-", r"NR(?:AK|II)-[A-Za-z0-9_-]{27,32}"),
    _token(
        "grafana-token",
        "glc_ glsa_",
        r"glc_[A-Za-z0-9+/=]{32,400}|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}",
    ),
    _token(
        "sentry-token", "sntrys_ sntryu_", r"sntrys_[A-Za-z0-9+/=_-]{40,400}|sntryu_[a-f0-9]{64}"
    ),
    _token("tailscale-key", "tskey-", r"tskey-[a-z]{1,12}-[A-Za-z0-9]{8,24}-[A-Za-z0-9]{16,48}"),
    # Shapes of any issuer
    _token(
        "jwt",
        "eyJ",
        r"eyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{10,1000}",
    ),
    _rule(
        "url-password",
        "://",
        r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s:/@\"'<>\\]{0,80}:"
        r"(?P<secret>[^\s/@\"'<>\\$*{]{3,200})@(?=[A-Za-z0-9\[])",
    ),
    _rule(
        "url-token",
        "=",
        r"[?&](?:access_token|auth_token|api_?key|token|sig|signature|secret|X-Amz-Signature"
        r"|code_verifier)=(?P<secret>[A-Za-z0-9%._~+/=-]{16,1000})",
        re.IGNORECASE,
    ),
    _rule(
        "authorization",
        "uthorization UTHORIZATION",
        r"\bauthorization[\"'\\]{0,6}\s{0,3}[:=]\s{0,3}[\"'\\]{0,6}(?:bearer|basic|token"
        r"|apikey)\s{1,3}(?P<secret>[A-Za-z0-9+/=._~-]{8,4000})",
        re.IGNORECASE,
    ),
    _rule(
        "bearer",
        "earer EARER",
        r"\bbearer\s{1,3}(?P<secret>(?=[A-Za-z._~+/-]{0,60}\d)[A-Za-z0-9._~+/-]{20,4000}={0,2})",
        re.IGNORECASE,
    ),
    _rule(
        "basic-auth",
        "-u --user",
        r"\bcurl\b[^\n|;]{0,400}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"'$]{1,80}:"
        r"(?P<secret>[^\s\"'$]{3,200})",
    ),
    _rule(
        "password",
        "mysql mariadb sshpass",
        r"\b(?:(?:mysql|mariadb)\w{0,10}\b[^\n|;]{0,300}?\s-p|sshpass\s{1,3}-p\s{0,3})[\"']?"
        r"(?P<secret>[^\s\"'$-][^\s\"'$]{3,200})",
    ),
    _rule(
        "password",
        "assword ASSWORD",
        r"\bpassword\s{1,2}[\"'`(]{0,2}(?P<secret>(?=[^\s\"'`/:=?]{0,60}\d)"
        r"(?=[^\s\"'`/:=?]{0,60}[A-Za-z])(?=[^\s\"'`/:=?]{0,60}[!@#$%^&*])"
        r"[^\s\"'`/:=?]{8,64})(?![/:=?])",
        re.IGNORECASE,
    ),
    _rule(
        "registry-login",
        'auth" auth\\',
        r"[\"\\]{1,8}auth[\"\\]{1,8}\s{0,2}:\s{0,2}[\"\\]{1,8}(?P<secret>(?=[A-Za-z0-9+/]{0,99}[A-Z])"
        r"(?=[A-Za-z0-9+/]{0,99}[a-z])(?=[A-Za-z0-9+/]{0,99}\d)[A-Za-z0-9+/]{16,400}={0,2})[\"\\]",
    ),
    _rule(
        "cookie",
        "ookie OOKIE",
        r"\bcookie\s{0,2}:\s{0,3}[\w.-]{1,60}=(?P<secret>(?=[A-Za-z0-9%._~+/=|-]{0,60}\d)"
        r"[A-Za-z0-9%._~+/=|-]{20,2000})",
        re.IGNORECASE,
    ),
)

_KEY_NAME: Final = r"(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
KEY_BEGIN: Final = re.compile("-----BEGIN " + _KEY_NAME)
KEY_END: Final = re.compile("-----END " + _KEY_NAME)
KEY_BODY: Final = re.compile(r"[A-Za-z0-9+/=\s:,.%\\-]*")
"""First line, last line and what may stand between them, also escaped."""
