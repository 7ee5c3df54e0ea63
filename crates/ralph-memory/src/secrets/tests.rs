//! Tests of secret detection. Tokens are assembled at run time, so that secret scanners do not flag this file.

use super::*;
use proptest::prelude::*;
use std::cell::Cell;

const ANTHROPIC: &str = "anthropic";
const AWS: &str = "aws";
const GITHUB: &str = "github";
const GOOGLE: &str = "google";
const NPM: &str = "npm";
const OPENAI: &str = "openai";
const PRIVATE_KEY: &str = "private-key";
const SLACK: &str = "slack";
const URL: &str = "url";

/// Random-looking letters and digits.
fn random(length: usize) -> String {
    "q7Zr2mKx9TbVw4LcHs8Ny3Gd".chars().cycle().take(length).collect()
}

fn upper(length: usize) -> String {
    random(length).to_uppercase()
}

fn base64_lines(lines: usize) -> String {
    format!("{}+/\n", random(62)).repeat(lines)
}

fn begin(title: &str) -> String {
    format!("{0}BEGIN {title}{0}", "-".repeat(5))
}

fn end(title: &str) -> String {
    format!("{0}END {title}{0}", "-".repeat(5))
}

fn private_key(title: &str) -> String {
    format!("{}\n{}Ab4=\n{}", begin(title), base64_lines(3), end(title))
}

fn url(scheme: &str, user: &str, password: &str) -> String {
    format!("{scheme}://{user}:{password}@db.internal:5432/app")
}

/// Asserts that exactly these secrets are found.
#[track_caller]
fn check(text: &str, expected: &[(&str, &str)]) {
    let found = find(text);
    let found: Vec<_> = found
        .iter()
        .map(|secret| (text.get(secret.range.clone()).unwrap(), secret.kind.slug()))
        .collect();
    assert_eq!(found, expected, "in {text:?}");
}

fn tokens() -> Vec<(String, &'static str)> {
    let of = |prefix: &str, length: usize| format!("{prefix}{}", random(length));
    let mut tokens = vec![
        (format!("{}{}_{}", "github_pat_", random(22), random(59)), GITHUB),
        (
            format!("{}{}_{}.{}.{}", "ghs_", 12345, random(40), random(300), random(90)),
            GITHUB,
        ),
        (
            format!("{}api03-{}-_{}AA", "sk-ant-", random(50), random(40)),
            ANTHROPIC,
        ),
        (format!("{}oat01-{}", "sk-ant-", random(95)), ANTHROPIC),
        (
            format!(
                "{}{}{}{}",
                "sk-",
                random(20),
                "T3Blbk",
                format_args!("FJ{}", random(20))
            ),
            OPENAI,
        ),
        (
            format!(
                "{}None-{}{}{}",
                "sk-",
                random(20),
                "T3Blbk",
                format_args!("FJ{}", random(20))
            ),
            OPENAI,
        ),
        (
            format!("{}{}-{}-{}", "xoxb-", "123456789012", "1234567890123", random(24)),
            SLACK,
        ),
        (format!("{}{}-1-{}", "xoxe.", "xoxp", upper(163)), SLACK),
        (
            format!("{}{}-1234567890123-{}", "xapp-1-", upper(11), random(64)),
            SLACK,
        ),
        (of("GOCSPX-", 28), GOOGLE),
        (of("ya29.", 120), GOOGLE),
        (format!("{}c.b0{}", "ya29.", random(120)), GOOGLE),
        (of("AIza", 35), GOOGLE),
        (of("npm_", 36), NPM),
        (of("sk-", 48), OPENAI),
    ];
    tokens.extend(["AKIA", "ASIA", "ABIA", "ACCA"].map(|prefix| (format!("{prefix}{}", upper(16)), AWS)));
    tokens.extend(["ghp_", "gho_", "ghu_", "ghs_", "ghr_"].map(|prefix| (of(prefix, 36), GITHUB)));
    tokens.extend(["sk-proj-", "sk-svcacct-", "sk-admin-"].map(|prefix| (of(prefix, 120), OPENAI)));
    tokens.extend(
        ["xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-"].map(|prefix| (format!("{prefix}2-{}", random(40)), SLACK)),
    );
    tokens
}

#[test]
fn tokens_are_found_at_any_word_boundary() {
    for (token, kind) in tokens() {
        for (before, after) in [
            ("", ""),
            ("export TOKEN=", "\n"),
            ("{\"key\": \"", "\"}"),
            ("Bearer ", "."),
            ("先の鍵は", "、です"),
            ("line\\n", "\\nline"),
            ("?access_token%3D", "&x=1"),
            ("`", "`"),
        ] {
            check(&format!("{before}{token}{after}"), &[(&token, kind)]);
        }
    }
}

#[test]
fn tokens_of_fixed_length_must_match_it() {
    for (token, _) in tokens() {
        let fixed = ["AKIA", "AIza", "npm_"];
        if fixed.iter().any(|prefix| token.starts_with(prefix)) {
            check(&format!("{token}Q"), &[]);
            check(token.strip_suffix(|_| true).unwrap(), &[]);
        }
    }
}

#[test]
fn values_are_found_by_name() {
    let key = format!("{}/{}+", random(20), random(18));
    for text in [
        format!("aws_secret_access_key = {key}"),
        format!("AWS_SECRET_ACCESS_KEY={key}\n"),
        format!("export AWS_SECRET_ACCESS_KEY=\"{key}\""),
        format!("\"aws_secret_access_key\": \"{key}\","),
        format!("{{\\\"SecretAccessKey\\\": \\\"{key}\\\"}}"),
        format!("<SecretAccessKey>{key}</SecretAccessKey>"),
        format!("aws.secretAccessKey={key}"),
        format!("aws configure set aws_secret_access_key {key} --profile x"),
    ] {
        // In XML, the slash of the closing tag follows a `<`.
        check(&text, &[(&key, AWS)]);
    }
    let token = format!("{}-{}", random(8), random(20));
    for text in [
        format!("//registry.example.org/:_authToken={token}"),
        format!("_authToken=\"{token}\"\n"),
        format!("npm config set //registry.example.org/:_authToken {token}"),
    ] {
        check(&text, &[(&token, NPM)]);
    }
    let path = format!("T{}/B{}/{}", upper(10), upper(10), random(24));
    check(
        &format!("curl https://{}/services/{path} -d", "hooks.slack.com"),
        &[(&path, SLACK)],
    );
}

#[test]
fn tokens_of_many_services_are_found() {
    let hex = |length: usize| "9f3a1c7e5b0d2846".chars().cycle().take(length).collect::<String>();
    for (token, kind) in [
        (format!("{}{}", "glpat-", random(20)), "gitlab"),
        (format!("{}live_{}", "sk_", random(24)), "stripe"),
        (format!("{}{}", "hf_", random(34)), "huggingface"),
        (format!("{}AgEIcHlwaS5vcmc{}", "pypi-", random(150)), "pypi"),
        (format!("{}.{}.{}", "SG", random(22), random(43)), "sendgrid"),
        (format!("{}v1_{}", "dop_", hex(64)), "digitalocean"),
        (format!("{}{}", "dapi", hex(32)), "databricks"),
        (
            format!(
                "{}.{}.{}",
                "eyJhbGciOiJIUzI1NiIsInR5cCI6",
                format_args!("eyJ{}", random(40)),
                random(43)
            ),
            "jwt",
        ),
        (format!("{}{}", "shpat_", hex(32)), "shopify"),
        (format!("{}_pat_{}", "dckr", random(27)), "dockerhub"),
        (format!("{}-{}", "NRAK", upper(27)), "new-relic"),
        (format!("{}{}", "SK", hex(32)), "twilio"),
        (format!("{}{}", "whsec_", random(32)), "stripe"),
        (format!("{}{}", "cfut_", random(44)), "cloudflare"),
        (format!("{}{}", "cio", random(32)), "crates-io"),
    ] {
        for (before, after) in [
            ("", ""),
            ("it is ", ", you see"),
            ("(", ")"),
            ("TOKEN='", "'"),
            ("a\\n", "\\n"),
        ] {
            check(&format!("{before}{token}{after}"), &[(&token, kind)]);
        }
    }
    for (text, value, kind) in [
        ("AZURE_CLIENT_SECRET=@", format!("q7Z8Q~{}", random(34)), "azure-ad"),
        ("AccountName=a;AccountKey=@;x", format!("{}==", random(86)), "azure"),
        ("TWILIO_AUTH_TOKEN=@", hex(32), "twilio"),
        ("cloudflare_api_token: '@'", random(40), "cloudflare"),
        ("DD_API_KEY=@", hex(32), "datadog"),
        ("Authorization: SSWS @", format!("00{}", random(40)), "okta"),
        (
            "discord.login('@')",
            format!("M{}.{}.{}", random(23), random(6), random(38)),
            "discord",
        ),
        (
            "Authorization: Bot @",
            format!("{}.{}.{}", "MTk4NjIyNDgzNDcxOTI1MjQ4", random(6), random(38)),
            "discord",
        ),
        ("AZURE_DEVOPS_EXT_PAT=@", random(52).to_lowercase(), "azure"),
        ("export AZURE_DEVOPS_PAT='@'", random(84), "azure"),
        ("AZURE_OPENAI_API_KEY=@", hex(32), "azure"),
        ("  password: \"@\"", "tR7#vQ9!mZx2".to_owned(), "password"),
        ("DB_PASSWORD=@", "tR7#vQ9!mZx2".to_owned(), "password"),
        ("SESSION_SECRET=@", random(32), "generic"),
        ("Authorization: Bearer @", random(32), "bearer"),
    ] {
        check(&text.replace('@', &value), &[(&value, kind)]);
    }
}

#[test]
fn placeholders_are_ignored() {
    for text in [
        "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ghp_... glpat-XXXXXXXXXXXXXXXXXXXX",
        "sk-... sk-ant-... sk_live_xxxxxxxxxxxxxxxxxxxxxxxx xoxb-your-token-goes-here-0123456789",
        "export GITHUB_TOKEN=<your-token> TOKEN=${GITHUB_TOKEN} API_KEY=$(pass show api/key)",
        "const token = process.env.GITHUB_TOKEN_FOR_DEPLOYMENTS1",
        "client_secret: \"{{ vault.client_secret_Of_This_App1 }}\"",
        "api_key=YOUR_API_KEY_GOES_HERE_1234 token: getTheTokenOfThisUser12345()",
        "https://app:hunter2@db.example.com/main",
        "password: \"Password123!\" DB_PASSWORD=changeme DB_PASSWORD=${DB_PASSWORD} password: \"correct horse 1 Battery\"",
        "password: \"MyTestPassw0rd99\" DB_PASSWORD=self.config.getPassword2 PASSWORD=config::Db1Password::new",
    ] {
        check(text, &[]);
    }
}

#[test]
fn private_keys_are_found_in_any_format() {
    for title in [
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "DSA PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ] {
        let key = private_key(title);
        let body = key.strip_prefix(&format!("{}\n", begin(title))).unwrap();
        for key in [
            key.clone(),
            key.replace('\n', "\r\n"),
            key.replace('\n', "\\n"),
            key.replace('\n', "\\\\n"),
            key.replace('\n', "\n    "),
            key.replace('\n', "\n+"),
            key.replace('\n', "\n-"),
            key.replace('\n', "\n> "),
            key.replace('\n', "\\n\" +\n  \""),
            key.replace('\n', "\n    12\t"),
            key.replace('\n', "\n    12→"),
            key.replace('\n', "\nE   "),
            key.replace('\n', "\n2026-11-18T04:16:23Z INFO app: "),
            key.replace('\n', "\nweb-1  | "),
            key.replace('\n', " "),
            format!(
                "{}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,{}\n\n{body}",
                begin(title),
                upper(32)
            ),
            format!("{}\nProc-Type: 4,ENCRYPTED\n\n{body}", begin(title)).replace('\n', "\nE   "),
            format!(
                "{}\nVersion: GnuPG v2\nComment: https://gnupg.org\n\n{body}",
                begin(title)
            ),
            format!("{}\n{}=aB3d\n{}", begin(title), base64_lines(2), end(title)),
        ] {
            check(&format!("key = \"{key}\"\nmore"), &[(&key, PRIVATE_KEY)]);
        }
    }
}

#[test]
fn truncated_private_key_ends_with_its_base64() {
    let begin = begin("RSA PRIVATE KEY");
    let lines = base64_lines(2);
    let cut = format!("{begin}\n{}", lines.trim_end());
    check(&cut, &[(&cut, PRIVATE_KEY)]);
    check(&format!("{cut}\nThen came some prose."), &[(&cut, PRIVATE_KEY)]);
    check(&format!("{cut}\n... the rest is missing"), &[(&cut, PRIVATE_KEY)]);
    let with_last_line = format!("{cut}\nAbCd==");
    check(
        &format!("{with_last_line}\n\nThen prose."),
        &[(&with_last_line, PRIVATE_KEY)],
    );
    let whole = private_key("EC PRIVATE KEY");
    check(
        &format!("{cut}\n{whole}"),
        &[(&cut, PRIVATE_KEY), (&whole, PRIVATE_KEY)],
    );
}

#[test]
fn private_key_without_begin_line_starts_with_base64() {
    let end = end("RSA PRIVATE KEY");
    let body = format!("{}Ab4=\n{end}", base64_lines(2));
    for body in [body.clone(), body.replace('\n', "\\n"), body.replace('\n', "\n    ")] {
        check(&body, &[(&body, PRIVATE_KEY)]);
        check(&format!("... {body}\nthen"), &[(&body, PRIVATE_KEY)]);
        check(
            &format!("[3 bytes were left out here]\n{body}"),
            &[(&body, PRIVATE_KEY)],
        );
    }
    check(&format!("and the line {end} ends it"), &[]);
}

#[test]
fn only_the_password_of_a_url_is_found() {
    for (scheme, user, password) in [
        ("https", "me", "hunter2"),
        ("postgres", "app", "p%40ss-w0rd!"),
        ("postgresql+psycopg", "app", "a:b,c;d=e"),
        ("redis", "", "s3cr3tly"),
        ("amqp", "app", "one@two"),
        ("mongodb+srv", "app", "pa$$w{rd"),
        ("https", "password", "letmein"),
    ] {
        check(&format!("<{}>", url(scheme, user, password)), &[(password, URL)]);
    }
    let token = format!("{}{}", "ghp_", random(36));
    check(
        &format!("https://x-access-token:{token}@github.com/a/b"),
        &[(&token, GITHUB)],
    );
    check(
        &format!("https://{token}:x-oauth-basic@github.com/a/b"),
        &[(&token, GITHUB)],
    );
    check(
        &format!("https://{token}:hunter2@github.com"),
        &[(&token, GITHUB), ("hunter2", URL)],
    );
    let longer = format!("a.{token}");
    check(&url("https", "me", &longer), &[(&longer, URL)]);
}

#[test]
fn lookalikes_are_ignored() {
    let begin = begin("PRIVATE KEY");
    let end = end("PRIVATE KEY");
    for text in [
        "",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709 9c1185a5c5e9fc54612808977ee8f548b2258d31",
        "123e4567-e89b-12d3-a456-426614174000",
        "sk-learn, sk-, sk-ant-, sk-proj-, sk-ant-api03-..., scikit sk-learn-contrib",
        "task-sk-1 ask-anthropic risk-projection",
        "ghp_, ghp_token, ghs_xxx, github_pat_token_is_missing_or_has_expired_since",
        "npm_config_registry npm_package_config_some_rather_long_name_of_a_variable npm_lifecycle_event",
        "AKIA, ASIAN, ASIA_PACIFIC_NORTH_EAST_1 AKIAabcdefghijklmnop",
        "xoxb-your-token xapp-sn-watcher-and-other-programs-of-the-desktop",
        "AIzaSy, ya29. and ya29.short",
        "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "https://host:8080/path@x http://localhost:3000?user=a@b https://h:1#a@b",
        "git@github.com:a/b ssh://git@github.com:22/a/b me@example.org",
        "https://host:8080、連絡先 a@b.org",
        "[https://a:8080](mailto:x@y.org)",
        "https://github.com/a/b.git https://user@host/ ftp://user:@host",
        "aws_secret_access_key = ${AWS_SECRET} secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY",
        "aws_secret_access_key=/run/secrets/of/the/deployment/that/is/running/aws/key",
        "the aws_secret_access_key is forty characters long",
        "//registry.npmjs.org/:_authToken=${NPM_TOKEN} _authToken=$NPM_TOKEN _authToken=<token> _authToken=xxxxxxxx",
        "this._authToken=response.token; let _authToken = getTheToken(); _authToken: string",
        "https://hooks.slack.com/services/YOUR/WEBHOOK/URL https://hooks.slack.com/services/T…/B…/…",
        "-----BEGIN CERTIFICATE----- -----BEGIN",
    ] {
        check(text, &[]);
    }
    for text in [
        format!("//{0}@host ://{0}@host ./{0}@host", "user:hunter2"),
        format!("strip {begin} and {end} from the key"),
        format!("{begin}\n...\n{end}"),
        format!("{begin}\n<your key>\n{end}"),
        format!("a file with {begin} is a key, see internationalization"),
        private_key("PUBLIC KEY"),
        private_key("CERTIFICATE"),
        base64_lines(20),
        format!("{begin}\n{}{}", "Name: value\n".repeat(6), base64_lines(2)),
    ] {
        check(&text, &[]);
    }
}

#[test]
fn placeholders_in_urls_are_ignored() {
    for password in [
        "password",
        "PASSWORD",
        "pass",
        "secret",
        "user",
        "xxx",
        "XXXXXX",
        "changeme",
        "example",
        "***",
        "",
        "$PASSWORD",
        "${PASSWORD}",
        "<password>",
        "{password}",
        "{{ password }}",
        "[password]",
        "%s",
        "%(password)s",
        "...",
        "pw",
        "$(cat file)",
    ] {
        check(&url("postgres", "app", password), &[]);
    }
    check(&url("postgres", "postgres", "postgres"), &[]);
    check("postgres://${USER:-me}:${PASSWORD:-none}@${HOST}/db", &[]);
}

#[test]
fn masks_name_the_kind() {
    assert!(matches!(mask("nothing to hide"), Cow::Borrowed("nothing to hide")));
    let token = format!("{}{}", "ghp_", random(36));
    let text = format!(
        "É{token}É {} {}",
        url("https", "me", "hunter2"),
        private_key("RSA PRIVATE KEY")
    );
    assert_eq!(
        mask(&text),
        "É[secret: github]É https://me:[secret: url]@db.internal:5432/app [secret: private-key]"
    );
    let kind = find(&token)[0].kind;
    assert_eq!((kind.slug(), kind.to_string().as_str()), ("github", "GitHub token"));
}

#[test]
fn secret_next_to_a_key_is_found() {
    let key = private_key("PRIVATE KEY");
    let token = format!("{}{}", "AIza", random(35));
    check(
        &format!("{token}{key}{token}"),
        &[(&token, GOOGLE), (&key, PRIVATE_KEY), (&token, GOOGLE)],
    );
}

thread_local! {
    /// The number of bytes this thread has read in runs.
    static READ: Cell<usize> = const { Cell::new(0) };
}

pub(super) fn count_read(bytes: usize) {
    READ.set(READ.get() + bytes);
}

#[test]
fn hostile_text_is_read_a_bounded_number_of_times() {
    const LENGTH: usize = 1 << 14;
    const MAX_READS_OF_A_BYTE: usize = 6;
    let begin = begin("PRIVATE KEY");
    for unit in [
        "sk-",
        "sk-ant-",
        " sk-ant-",
        "\\nsk-",
        "sk-proj-",
        "ghs_.",
        "ghs_...",
        "ghp_",
        "github_pat_",
        " github_pat_a",
        "ya29.",
        ".ya29.a",
        "AIza",
        " AIza",
        "xoxe.xox",
        "npm_",
        "%3Dsk-",
        "-----BEGIN",
        "-----BEGIN ",
        "-----",
        "://",
        "a://",
        "a://a:b@",
        "a:b@",
        "@",
        ":",
        "_authToken=",
        "._authToken=",
        "/:_authToken",
        "secretaccesskey=",
        "SecretAccessKey=",
        "secret_access_key ",
        "secretaccesskey",
        "hooks.slack.com/services/",
        "\\n",
        &begin,
        &format!("{begin}\n"),
        &format!("{begin}a: b "),
        &format!("{begin}\na: b\n"),
        &format!("{begin}\n1 "),
        &format!("{begin}\nE   {}\n", random(64)),
        &format!("{begin}\n{}\nE   ", random(64)),
        &format!("{begin}{}", random(16)),
        &format!("{begin}\n{}\n", random(64)),
        &format!("a{begin}-"),
    ] {
        let text = unit.repeat(LENGTH / unit.len());
        for text in [format!("{begin}\na: {text}"), text] {
            READ.set(0);
            check_mask(&text).unwrap();
            // The check searches three times: to mask, to compare and to find nothing left.
            let reads = READ.get().div_ceil(text.len() * 3);
            assert!(
                reads <= MAX_READS_OF_A_BYTE,
                "{reads} reads of each byte of {unit:?} repeated"
            );
        }
    }
}

/// Work that [`READ`] does not count: if it were quadratic, this would run for minutes.
#[test]
fn megabyte_of_prefixes_is_searched_quickly() {
    let begin = begin("PRIVATE KEY");
    for unit in ["sk-", "://", "-----BEGIN", &begin, &format!("{begin}a: b ")] {
        check(&unit.repeat((1 << 20) / unit.len()), &[]);
    }
}

#[test]
fn masked_key_is_not_a_header_of_another() {
    let text = format!(
        "{}Comment: {}\n{}",
        begin("PRIVATE KEY"),
        private_key("PRIVATE KEY"),
        random(40)
    );
    check(&mask(&text), &[]);
}

/// Pieces of secrets and their surroundings.
fn pieces() -> Vec<String> {
    let mut pieces: Vec<String> = tokens().into_iter().map(|(token, _)| token).collect();
    pieces.extend(
        [
            "a",
            "A",
            "_",
            "-",
            ".",
            "/",
            "+",
            "=",
            " ",
            "\n",
            "\\n",
            "\\",
            "%3D",
            "%",
            "é",
            "→",
            "@",
            ":",
            "\"",
            "x",
            "[",
            "]",
            "${",
            "12",
            ",",
            "://",
            "u:hunter2@",
            "https://",
            "secret_access_key=",
            "SecretAccessKey: ",
            "/:_authToken ",
            "_authToken=",
            "._authToken=",
            "hooks.slack.com/services/",
            "Comment: ",
            "xxxxxxxx",
            "sk-",
            "ghp_",
            "AKIA",
            "-----",
            "-----BEGIN ",
            "-----END ",
            "PRIVATE KEY",
        ]
        .map(str::to_owned),
    );
    pieces.extend([begin("PRIVATE KEY"), end("PRIVATE KEY"), private_key("RSA PRIVATE KEY")]);
    pieces.extend([8, 15, 16, 20, 22, 36, 40, 48, 64].map(random));
    pieces
}

/// Masks a text and asserts that nothing is left to find and nothing else changed.
fn check_mask(text: &str) -> Result<(), TestCaseError> {
    let masked = mask(text);
    let mut left = masked.as_ref();
    let mut at = 0;
    for secret in find(text) {
        prop_assert!(at <= secret.range.start && secret.range.start < secret.range.end);
        let kept = text
            .get(at..secret.range.start)
            .expect("ranges are at character boundaries");
        left = left.strip_prefix(kept).expect("what is outside is kept");
        left = left
            .strip_prefix(&format!("[secret: {}]", secret.kind.slug()))
            .expect("the mask");
        at = secret.range.end;
    }
    prop_assert_eq!(Some(left), text.get(at..));
    prop_assert_eq!(find(&masked), vec![], "{:?}", masked);
    Ok(())
}

proptest! {
    #[test]
    fn masking_any_text_is_idempotent(text in "(\\p{Any}){0,200}|\\PC*") {
        check_mask(&text)?;
    }

    #[test]
    fn masking_any_mix_of_secrets_is_idempotent(
        parts in prop::collection::vec(prop::sample::select(pieces()), 0..14)
    ) {
        check_mask(&parts.concat())?;
    }
}
