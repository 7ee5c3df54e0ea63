//! The JSON-RPC 2.0 envelope, one object per line. Parsed separately from its content, so that invalid content does not
//! invalidate the message.

use ralph_agent::is_readable;
use serde::Serialize;
use serde_json::{Map, Value, json};

const METHOD_NOT_FOUND: i64 = -32601;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// A request that needs a response with this id.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// The response to the request with this id.
    Response {
        id: u64,
        outcome: Result<Value, RpcError>,
    },
    /// The agent could not parse a message, so it cannot name the request.
    Unread(RpcError),
    /// A valid message that is ignored.
    Other,
}

/// An error from an agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Value,
}

impl Message {
    /// Parses a line; `None` if it is not a message.
    pub(crate) fn read(line: &str) -> Option<Self> {
        if !is_readable(line) {
            return None;
        }
        let Value::Object(mut message) = serde_json::from_str(line).ok()? else {
            return None;
        };
        let params = message.remove("params").unwrap_or_default();
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        let id = message.remove("id").filter(|id| !id.is_null());
        match (method, id) {
            (Some(method), Some(id)) => Some(Self::Request { id, method, params }),
            (Some(method), None) => Some(Self::Notification { method, params }),
            (None, id) => Self::response(id.as_ref().and_then(number), message),
        }
    }

    fn response(id: Option<u64>, mut message: Map<String, Value>) -> Option<Self> {
        let is_message = message.contains_key("jsonrpc");
        let error = message.remove("error").filter(|error| !error.is_null());
        let outcome = match (error, message.remove("result")) {
            (Some(error), _) => Err(RpcError::from(error)),
            (None, Some(result)) => Ok(result),
            (None, None) => return is_message.then_some(Self::Other),
        };
        match (id, outcome) {
            (Some(id), outcome) => Some(Self::Response { id, outcome }),
            (None, Err(error)) if is_message => Some(Self::Unread(error)),
            (None, _) => is_message.then_some(Self::Other),
        }
    }
}

impl From<Value> for RpcError {
    fn from(error: Value) -> Self {
        let message = error.get("message").and_then(Value::as_str);
        Self {
            code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
            // Some agents send a string instead of an object.
            message: message.or(error.as_str()).unwrap_or_default().to_owned(),
            data: error.get("data").cloned().unwrap_or_default(),
        }
    }
}

/// Parses a numeric id; some agents return it as a string.
fn number(id: &Value) -> Option<u64> {
    id.as_u64().or_else(|| id.as_str()?.parse().ok())
}

pub(crate) fn request(id: u64, method: &str, params: &impl Serialize) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

pub(crate) fn notification(method: &str, params: &impl Serialize) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

pub(crate) fn answer(id: &Value, result: &impl Serialize) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// The response to a request for an unsupported method.
pub(crate) fn no_such_method(id: &Value, method: &str) -> Vec<u8> {
    let error = json!({"code": METHOD_NOT_FOUND, "message": format!("Method not found: {method}")});
    line(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<&Message>) {
        assert_eq!(Message::read(line).as_ref(), expected, "{line}");
    }

    #[test]
    fn messages_are_classified_by_id_and_method() {
        check(
            r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"a":1}}"#,
            Some(&Message::Request {
                id: 0.into(),
                method: "session/request_permission".into(),
                params: json!({"a": 1}),
            }),
        );
        check(
            r#"{"method":"_auth/status_update","id":null}"#,
            Some(&Message::Notification {
                method: "_auth/status_update".into(),
                params: Value::Null,
            }),
        );
        let outcome = Ok(json!({}));
        check(r#"{"id":"7","result":{}}"#, Some(&Message::Response { id: 7, outcome }));
    }

    #[test]
    fn errors_are_parsed_in_any_form() {
        let error = |code, message: &str, data| Message::Response {
            id: 3,
            outcome: Err(RpcError {
                code,
                message: message.into(),
                data,
            }),
        };
        let line = r#"{"id":3,"error":{"code":-32603,"message":"x","data":{"errorKind":"rate_limit"}}}"#;
        check(line, Some(&error(-32603, "x", json!({"errorKind": "rate_limit"}))));
        check(
            r#"{"id":3,"error":"broken","result":null}"#,
            Some(&error(0, "broken", Value::Null)),
        );
        check(r#"{"id":3,"error":{"code":"x"}}"#, Some(&error(0, "", Value::Null)));
    }

    #[test]
    fn invalid_messages_are_rejected() {
        for line in ["", "hello", "{", "[1]", "null", r#"{"type":"system"}"#, r#"{"id":1}"#] {
            check(line, None);
        }
        let huge = format!(
            r#"{{"jsonrpc":"2.0","method":"x","params":[{}1]}}"#,
            "1,".repeat(1_000_000)
        );
        check(&huge, None);
        check(r#"{"jsonrpc":"2.0","id":1}"#, Some(&Message::Other));
        check(r#"{"jsonrpc":"2.0","id":[],"result":1}"#, Some(&Message::Other));
        let unread = RpcError {
            code: -32700,
            ..RpcError::default()
        };
        check(
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}"#,
            Some(&Message::Unread(unread)),
        );
    }
}
