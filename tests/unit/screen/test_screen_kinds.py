"""What is a credential, and what only looks like one."""

from __future__ import annotations

import pytest

from archive.screening.screen import screen_text

ASSIGNED = [
    ("password", 'password = "hunter2!"'),
    ("password", "DB_PASSWORD=correct-horse-9"),
    ("password", '{"user": "ann", "password": "hunter2!"}'),
    ("password", "the password is Tr0ub4dor&3"),
    ("password", "mysql --password s3cr3t9x"),
    ("password", "密码：abc12345"),
    ("password", "数据库密码是 Abc12345!"),
    ("password", "export DB_PASS=s3cr3tPass9"),
    ("password", "mysql -u root -ps3cr3tPass9"),
    ("password", "sshpass -p 's3cr3tPass9' ssh host"),
    ("password", "use the password s3cr3tPass9! for staging"),
    ("registry-login", '"auth": "dXNlcjpTdXAzclMzY3JldDk="'),
    ("cookie", "Cookie: session=a1B2c3D4e5F6g7H8i9J0k1L2"),
    ("secret", 'api_key: "a8f5f167f44f4964e6c998dee8"'),
    ("secret", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPx"),
    ("secret", "client_secret => 'q8Rk2LmZ0pTw5'"),
    ("token", "deploy --token abc123def456"),
    ("token", "TOKEN=9f8e7d6c5b4a39281"),
    ("url-password", "postgres://app:p4ssw0rd@db.internal:5432/app"),
    ("url-token", "https://api.acme.dev/v1?access_token=" + "a1b2c3d4" * 4),
    ("authorization", "Authorization: Bearer " + "abc123def456" * 3),
    ("authorization", '"authorization":"Basic ' + "dXNlcjpwYXNz" + '"'),
    ("basic-auth", "curl -u bob:s3cr3t-x https://acme.dev"),
    ("slack-webhook", "https://hooks.slack.com/services/" + "T000AAAA/B000BBBB/" + "x1Y2" * 6),
]

ORDINARY = [
    "commit 4c1e09b7a2d85f3160e9c7b48a52d3f1069ebc87",
    "5be07c12-93fd-4e6a-b1c8-07d2f4a9e635",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "integrity sha512-" + "Zm9vYmFyYmF6" * 7 + "==",
    "risk-based-authentication-service-token",
    "task-1234567890abcdef1234567890abcdef12",
    "ask-anything-you-like-about-disk-space",
    "1764500000000-0",
    "src/auth/reset-password-form.tsx",
    "secrets/token.txt: file not found",
    "https://example.com:8080/users/x@y",
    "git@github.com:acme/app.git",
    "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAA" * 6,
    "max_tokens=4096",
    "token_count: 123456",
    "key=value",
    "keyboard: qwerty12345",
    "passwordHash: $2b$10$",
    "credentials: include",
    "tokens: 1234",
]

PROSE = [
    "Use a strong password and rotate the token every 90 days.",
    "The token is invalid after 10:30, so ask for another one.",
    "password: use at least 12 characters",
    "I added a `password: str | None` field and a token: string parameter.",
    "Set the secret in the vault, never in the repository.",
    "Bearer tokens are used for the API, basic auth for the dashboard.",
    "Added password: required field validation.",
    "secretName: my-secret",
    "The password Argon2id hash is slow on purpose.",
    "Cookie: the banner is shown once.",
    "密码是必填项。",
    "密码不能为空，令牌会过期。",
]

CODE = [
    "password = os.environ['DB_PASSWORD']",
    "const token = getToken(request)",
    "secret: process.env.SECRET",
    "api_key=YOUR_API_KEY",
    "password=<your-password>",
    'password = "changeme"',
    "2 tests pass: 12, fail: 3",
    "mysql -p && mysqldump --port=3306",
    '"auth": "basic"',
    "password=${DB_PASSWORD}",
    "password: '****'",
    "token: Optional[str] = None",
    "password = forms.CharField(max_length=64)",
    "token={{ secrets.GITHUB_TOKEN }}",
    "api_key: string;",
    "secret=None",
]


def test_an_issuers_form_is_withheld_by_its_kind(credential) -> None:
    kind, text = credential
    screened = screen_text(f"I used {text} for it.")
    name = "AccountKey=" if kind == "azure-storage-key" else ""
    assert screened.text == f"I used {name}[withheld: {kind}] for it."
    assert screened.withheld == {kind: 1}
    assert text[-12:] not in screened.text


@pytest.mark.parametrize(("kind", "text"), ASSIGNED, ids=[text[:24] for _, text in ASSIGNED])
def test_a_value_given_to_a_secrets_name_is_withheld(kind: str, text: str) -> None:
    screened = screen_text(text)
    assert screened.withheld == {kind: 1}
    assert f"[withheld: {kind}]" in screened.text


def test_only_the_value_goes() -> None:
    assert screen_text('{"password": "hunter2!", "user": "ann"}').text == (
        '{"password": "[withheld: password]", "user": "ann"}'
    )


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_identifiers_stay(text: str) -> None:
    assert screen_text(text).text == text


@pytest.mark.parametrize("text", PROSE)
def test_plain_prose_about_passwords_stays(text: str) -> None:
    assert screen_text(text).text == text


@pytest.mark.parametrize("text", CODE)
def test_code_and_placeholders_stay(text: str) -> None:
    assert screen_text(text).text == text


def test_a_prefix_inside_a_word_is_none(credential) -> None:
    kind, text = credential
    by_content = ("azure-storage-key", "discord-token", "telegram-token")
    assert (f"[withheld: {kind}]" in screen_text(f"x{text}").text) == (kind in by_content[:1])


def test_a_form_that_is_too_short_is_none(credential) -> None:
    _, text = credential
    assert screen_text(text[:9]).withheld == {}


def test_a_private_key_goes_from_its_first_line_to_its_last() -> None:
    key = (
        "-----BEGIN OPENSSH PRIVATE "
        + "KEY-----\nb3BlbnNzaC1rZXk\nAAAA=\n-----END OPENSSH PRIVATE KEY-----"
    )
    assert screen_text(f"key:\n{key}\ndone").text == "key:\n[withheld: private-key]\ndone"


def test_a_cut_off_private_key_goes_to_the_end_of_its_run() -> None:
    key = "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEpAIBAAKCAQEA7\nq9f2"
    screened = screen_text(key)
    assert screened.text == "[withheld: private-key]"


def test_several_are_counted_by_kind(credentials) -> None:
    text = " ".join(credentials[k] for k in ("npm-token", "github-token", "npm-token"))
    screened = screen_text(f"{text} password=hunter2x!")
    assert screened.withheld == {"github-token": 1, "npm-token": 2, "password": 1}


def test_screened_text_screens_to_itself(credential) -> None:
    kind, text = credential
    once = screen_text(f"token={text}; {text}").text
    assert screen_text(once).text == once
    assert kind


def test_what_is_found_never_carries_the_value(credential) -> None:
    _, text = credential
    assert text not in repr(screen_text(text))
