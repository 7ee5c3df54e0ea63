//! Service failures, in the format of each API.

use serde_json::{Value, json};

use super::http::Response;
use super::wire::Wire;

/// Why the service fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    Unauthorized,
    /// Too many requests.
    RateLimited,
    /// The account's quota is used up.
    UsageLimit {
        /// Unix time in seconds.
        resets_at: u64,
    },
    ServerError,
    /// The prompt is too long.
    ContextOverflow,
    Billing,
}

impl Failure {
    /// Whether every request of the account fails this way.
    pub(super) fn affects_account(self) -> bool {
        !matches!(self, Self::ContextOverflow)
    }

    /// The error response.
    pub(super) fn response(self, wire: Wire) -> Response {
        Response::Whole {
            status: self.status(wire),
            headers: self.headers(wire),
            body: match wire {
                Wire::Anthropic => self.as_anthropic(),
                Wire::Chat | Wire::Responses => self.as_openai(),
                Wire::Gemini => self.as_gemini(),
            }
            .to_string(),
        }
    }

    fn status(self, wire: Wire) -> u16 {
        match self {
            Self::Unauthorized => 401,
            Self::RateLimited | Self::UsageLimit { .. } => 429,
            Self::ServerError => 500,
            Self::ContextOverflow => 400,
            Self::Billing if wire == Wire::Anthropic => 400,
            Self::Billing => 402,
        }
    }

    fn headers(self, wire: Wire) -> Vec<(&'static str, String)> {
        match (self, wire) {
            (Self::RateLimited, _) => vec![("retry-after", "1".to_owned())],
            (Self::UsageLimit { resets_at }, Wire::Anthropic) => vec![
                ("x-should-retry", "false".to_owned()),
                ("anthropic-ratelimit-unified-status", "rejected".to_owned()),
                ("anthropic-ratelimit-unified-reset", resets_at.to_string()),
                (
                    "anthropic-ratelimit-unified-representative-claim",
                    "five_hour".to_owned(),
                ),
            ],
            _ => Vec::new(),
        }
    }

    /// The error message; some agents detect an overlong prompt only by its text.
    fn message(self, wire: Wire) -> &'static str {
        match self {
            Self::Unauthorized => "The key is not valid.",
            Self::RateLimited => "Too many requests; try again later.",
            Self::UsageLimit { .. } => "You've hit your usage limit",
            Self::ServerError => "Internal server error",
            Self::ContextOverflow => match wire {
                Wire::Anthropic => "prompt is too long: 210000 tokens > 200000 maximum",
                Wire::Chat | Wire::Responses => {
                    "Your input exceeds the context window of this model. Please adjust your input and try again."
                }
                Wire::Gemini => {
                    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
                }
            },
            Self::Billing => "Your credit balance is too low",
        }
    }

    fn as_anthropic(self) -> Value {
        let message = self.message(Wire::Anthropic);
        let kind = match self {
            Self::Unauthorized => "authentication_error",
            Self::RateLimited | Self::UsageLimit { .. } => "rate_limit_error",
            Self::ServerError => "api_error",
            Self::ContextOverflow | Self::Billing => "invalid_request_error",
        };
        json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_scripted" })
    }

    fn as_openai(self) -> Value {
        let (kind, code) = match self {
            Self::Unauthorized => ("authentication_error", "invalid_api_key"),
            Self::RateLimited => ("rate_limit_error", "rate_limit_exceeded"),
            Self::UsageLimit { .. } => ("usage_limit_reached", "usage_limit_reached"),
            Self::ServerError => ("server_error", "server_error"),
            Self::ContextOverflow => ("invalid_request_error", "context_length_exceeded"),
            Self::Billing => ("insufficient_quota", "insufficient_quota"),
        };
        let mut error = json!({ "message": self.message(Wire::Chat), "type": kind, "code": code });
        if let Self::UsageLimit { resets_at } = self {
            error["plan_type"] = json!("plus");
            error["resets_at"] = json!(resets_at);
        }
        json!({ "error": error })
    }

    fn as_gemini(self) -> Value {
        let status = match self {
            Self::Unauthorized => "UNAUTHENTICATED",
            Self::RateLimited | Self::UsageLimit { .. } => "RESOURCE_EXHAUSTED",
            Self::ServerError => "INTERNAL",
            Self::ContextOverflow => "INVALID_ARGUMENT",
            Self::Billing => "FAILED_PRECONDITION",
        };
        let mut error =
            json!({ "code": self.status(Wire::Gemini), "message": self.message(Wire::Gemini), "status": status });
        if let Self::UsageLimit { .. } = self {
            let violation = json!({ "quotaId": "GenerateRequestsPerDayPerProjectPerModel" });
            error["details"] =
                json!([{ "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation] }]);
        }
        json!({ "error": error })
    }
}
