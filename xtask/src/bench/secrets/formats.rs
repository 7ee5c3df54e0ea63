//! Generates well-formed tokens of common services from their documented formats: prefix, alphabet, length.
//!
//! The rules in `own.jsonl` were extended until these were found, so this recall guards against regressions but does
//! not estimate the recall on other tokens; `positives.jsonl` does. Nothing here is a token: `{A36}` becomes 36 random
//! letters and digits when the benchmark runs.

use crate::random::Random;

/// A text that contains a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Example {
    pub(super) provider: String,
    /// Output of an agent or a program.
    pub(super) text: String,
    pub(super) secret: String,
}

/// Texts around tokens that are recognized by their prefix. `{}` is the token.
const CONTEXTS: [&str; 8] = [
    "{}",
    "export API_TOKEN={}",
    "{\"token\": \"{}\", \"user\": 7}",
    "The deploy used {}, which works.",
    "curl -H 'Authorization: Bearer {}' https://api.internal/v1",
    "token: '{}'\n",
    "log: auth ok ({}) in 12ms",
    "TOKEN=\"{}\"; run",
];

/// A service, a token format, and the text around it if the token is recognized only by the name of the service.
const FORMATS: &[(&str, &str, &str)] = &[
    ("1password", "ops_eyJ{w300}", ""),
    ("adafruit", "aio_{A28}", ""),
    ("age", "AGE-SECRET-KEY-1{2QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7Lx58}", ""),
    ("airtable", "pat{A14}.{h64}", ""),
    ("anthropic", "sk-ant-api03-{w93}AA", ""),
    ("anthropic", "sk-ant-admin01-{w93}AA", ""),
    ("anthropic", "sk-ant-oat01-{w93}AA", ""),
    ("artifactory", "AKCp{A69}", ""),
    ("atlassian", "ATATT3xFfGF0{w171}={H8}", ""),
    ("aws", "AKIA{2ABCDEFGHIJKLMNOPQRSTUVWXYZ234567x16}", ""),
    ("aws", "{b40}", "aws_secret_access_key = {}"),
    ("aws", "{b40}", "\"SecretAccessKey\": \"{}\","),
    (
        "azure",
        "{b86}==",
        "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={};EndpointSuffix=core.windows.net",
    ),
    ("azure", "{A3}8Q~{w34}", "AZURE_CLIENT_SECRET={}"),
    ("brevo", "xkeysib-{h64}-{A16}", ""),
    ("buildkite", "bkua_{h40}", ""),
    ("circleci", "CCIPAT_{A22}_{h40}", ""),
    ("clojars", "CLOJARS_{h60}", ""),
    ("cloudflare", "{w40}", "CLOUDFLARE_API_TOKEN={}"),
    ("cloudflare", "{h37}", "cloudflare_api_key: {}"),
    ("databricks", "dapi{h32}", ""),
    ("datadog", "{h32}", "DATADOG_API_KEY={}"),
    ("datadog", "{h32}", "DD_API_KEY={}"),
    ("datadog", "{h40}", "datadog.app_key: {}"),
    ("digitalocean", "dop_v1_{h64}", ""),
    ("discord", "MTA{A23}.G{A5}.{w38}", "discord.login('{}')"),
    ("discord", "{w68}", "https://discord.com/api/webhooks/{d18}/{}"),
    ("dockerhub", "dckr_pat_{w27}", ""),
    ("doppler", "dp.pt.{A43}", ""),
    ("dropbox", "sl.{w140}", ""),
    ("dynatrace", "dt0c01.{U24}.{U64}", ""),
    ("easypost", "EZAK{A54}", ""),
    ("facebook", "EAAC{A180}", ""),
    ("figma", "figd_{w40}", ""),
    ("flutterwave", "FLWSECK_TEST-{h32}-X", ""),
    ("fly", "fm2_{b500}", "FLY_API_TOKEN=\"FlyV1 {}\""),
    ("github", "ghp_{A36}", ""),
    ("github", "gho_{A36}", ""),
    ("github", "ghs_{A36}", ""),
    ("github", "github_pat_{A22}_{A59}", ""),
    ("gitlab", "glpat-{w20}", ""),
    ("gitlab", "glrt-{w20}", ""),
    ("gitlab", "gldt-{w20}", ""),
    ("google", "AIza{w35}", ""),
    ("google", "GOCSPX-{w28}", ""),
    ("google", "ya29.a0{w160}", ""),
    ("grafana", "glsa_{A32}_{h8}", ""),
    ("grafana", "glc_eyJ{A80}", ""),
    ("groq", "gsk_{A52}", ""),
    ("heroku", "HRKU-AA{w58}", ""),
    ("heroku", "{h8}-{h4}-{h4}-{h4}-{h12}", "HEROKU_API_KEY={}"),
    ("huggingface", "hf_{L34}", ""),
    ("hubspot", "pat-na1-{h8}-{h4}-{h4}-{h4}-{h12}", ""),
    ("jwt", "eyJ{A33}.eyJ{w80}.{w43}", ""),
    ("langsmith", "lsv2_pt_{h32}_{h10}", ""),
    ("linear", "lin_api_{A40}", ""),
    ("mailchimp", "{h32}-us14", "MAILCHIMP_API_KEY={}"),
    ("mailgun", "key-{h32}", ""),
    ("netlify", "nfp_{A36}", ""),
    ("newrelic", "NRAK-{U27}", ""),
    ("notion", "ntn_{d11}{A35}", ""),
    ("npm", "npm_{A36}", ""),
    (
        "npm",
        "{h8}-{h4}-{h4}-{h4}-{h12}",
        "//registry.npmjs.org/:_authToken={}",
    ),
    ("okta", "00{w40}", "Authorization: SSWS {}"),
    ("okta", "00{w40}", "OKTA_API_TOKEN={}"),
    ("openai", "sk-proj-{w74}T3BlbkFJ{w74}", ""),
    ("openai", "sk-{A20}T3BlbkFJ{A20}", ""),
    ("openrouter", "sk-or-v1-{h64}", ""),
    ("perplexity", "pplx-{A48}", ""),
    ("planetscale", "pscale_tkn_{w43}", ""),
    ("postman", "PMAK-{h24}-{h34}", ""),
    ("postgres", "{A20}", "postgres://app:{}@db.internal:5432/main"),
    ("pulumi", "pul-{h40}", ""),
    ("pypi", "pypi-AgEIcHlwaS5vcmc{w150}", ""),
    ("replicate", "r8_{A37}", ""),
    ("resend", "re_{A8}_{A24}", ""),
    ("rubygems", "rubygems_{h48}", ""),
    ("sendgrid", "SG.{w22}.{w43}", ""),
    ("sentry", "sntryu_{h64}", ""),
    ("shippo", "shippo_live_{h40}", ""),
    ("shopify", "shpat_{h32}", ""),
    ("slack", "xoxb-{d12}-{d13}-{A24}", ""),
    ("slack", "xapp-1-A{U10}-{d13}-{h64}", ""),
    ("slack", "T{U10}/B{U10}/{A24}", "https://hooks.slack.com/services/{}"),
    ("square", "EAAA{w60}", ""),
    ("stripe", "sk_live_{A99}", ""),
    ("stripe", "rk_live_{A24}", ""),
    ("supabase", "sbp_{h40}", ""),
    ("tailscale", "tskey-auth-{A16}-{A32}", ""),
    ("telegram", "{d10}:AA{w33}", ""),
    ("terraform", "{A14}.atlasv1.{w67}", ""),
    ("twilio", "SK{h32}", "twilio_key = '{}'"),
    ("twilio", "{h32}", "TWILIO_AUTH_TOKEN={}"),
    ("vault", "hvs.{w95}", ""),
    ("vercel", "vcp_{A56}", ""),
    ("xai", "xai-{A80}", ""),
];

/// Generates this many examples of each format.
pub(super) fn examples(random: &mut Random, of_each: usize) -> Vec<Example> {
    let mut examples = Vec::new();
    for (provider, format, around) in FORMATS {
        for at in 0..of_each {
            let around = match (*around, CONTEXTS.get(at % CONTEXTS.len())) {
                ("", Some(around)) => around,
                (around, _) => around,
            };
            let secret = fill(format, random);
            let text = fill(around, random).replace("{}", &secret);
            examples.push(Example {
                provider: (*provider).to_owned(),
                text,
                secret,
            });
        }
    }
    examples
}

/// Replaces placeholders by random characters; `{}` stays.
fn fill(format: &str, random: &mut Random) -> String {
    let mut text = String::new();
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        match after
            .split_once('}')
            .map(|(place, rest)| (parse_placeholder(place), rest))
        {
            Some((Some((alphabet, length)), after)) => {
                text.extend((0..length).filter_map(|_| random.one_of(&alphabet)));
                rest = after;
            }
            _ => {
                text.push('{');
                rest = after;
            }
        }
    }
    text + rest
}

/// Parses a placeholder: a letter for the alphabet and a length, or `2`, an explicit alphabet, `x` and the length.
fn parse_placeholder(place: &str) -> Option<(Vec<char>, usize)> {
    let (letter, length) = (place.chars().next()?, place.get(1..)?);
    let alphabet: Vec<char> = match letter {
        'A' => ('a'..='z').chain('A'..='Z').chain('0'..='9').collect(),
        'L' => ('a'..='z').chain('A'..='Z').collect(),
        'U' => ('A'..='Z').chain('0'..='9').collect(),
        'H' => ('A'..='F').chain('0'..='9').collect(),
        'h' => ('a'..='f').chain('0'..='9').collect(),
        'd' => ('0'..='9').collect(),
        'b' => ('a'..='z')
            .chain('A'..='Z')
            .chain('0'..='9')
            .chain("+/".chars())
            .collect(),
        'w' => ('a'..='z')
            .chain('A'..='Z')
            .chain('0'..='9')
            .chain("_-".chars())
            .collect(),
        '2' => {
            return place
                .get(1..)?
                .rsplit_once('x')
                .and_then(|(alphabet, length)| Some((alphabet.chars().collect(), length.parse().ok()?)));
        }
        _ => return None,
    };
    Some((alphabet, length.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn examples_match_their_format() {
        let mut random = Random::seeded(1);
        assert_eq!(fill("a{d3}b{}", &mut random).len(), 7);
        assert_eq!(fill("{2Zx4}{\"k\": {}}", &mut random), "ZZZZ{\"k\": {}}");
        let examples = examples(&mut random, 8);
        assert!(examples.iter().all(|example| example.text.contains(&example.secret)));
        assert!(examples.iter().all(|example| !example.secret.contains('{')));
        let providers: BTreeSet<&str> = examples.iter().map(|example| example.provider.as_str()).collect();
        assert!(providers.len() >= 60, "{}", providers.len());
    }
}
