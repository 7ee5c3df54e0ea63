//! Timestamps as text: RFC 3339 in UTC with milliseconds, all of the same width, so that they sort as text. The
//! database, JSON and files use this format.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Formats a timestamp.
#[must_use]
pub fn format_timestamp(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// Serializes an optional timestamp, for `#[serde(serialize_with)]`.
///
/// # Errors
/// If the serializer fails.
pub fn serialize_timestamp<S: Serializer>(
    at: &(impl Copy + Into<Option<Timestamp>>),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let at: Option<Timestamp> = (*at).into();
    at.map(format_timestamp).serialize(serializer)
}

/// Deserializes an optional timestamp, for `#[serde(deserialize_with)]`.
///
/// # Errors
/// If the value is not a timestamp.
pub fn deserialize_timestamp<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| text.parse().map_err(de::Error::custom)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Until {
        #[serde(
            default,
            serialize_with = "serialize_timestamp",
            deserialize_with = "deserialize_timestamp"
        )]
        until: Option<Timestamp>,
    }

    #[test]
    fn timestamps_round_trip() {
        for (text, second) in [
            (r#"{"until":"1970-01-01T00:00:07.000Z"}"#, Some(7)),
            (r#"{"until":null}"#, None),
        ] {
            let until = second.map(|second| Timestamp::from_second(second).unwrap());
            assert_eq!(serde_json::from_str::<Until>(text).unwrap(), Until { until });
            assert_eq!(serde_json::to_string(&Until { until }).unwrap(), text);
        }
        assert_eq!(serde_json::from_str::<Until>("{}").unwrap(), Until { until: None });
        assert!(serde_json::from_str::<Until>(r#"{"until":"soon"}"#).is_err());
    }

    #[derive(Serialize)]
    struct Times {
        #[serde(serialize_with = "serialize_timestamp")]
        at: Timestamp,
        #[serde(serialize_with = "serialize_timestamp")]
        until: Option<Timestamp>,
    }

    #[test]
    fn timestamps_have_one_width() {
        for (text, expected) in [
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z"),
            ("2026-01-01T00:00:00.14Z", "2026-01-01T00:00:00.140Z"),
            ("2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00:00.123Z"),
        ] {
            let at: Timestamp = text.parse().unwrap();
            assert_eq!(format_timestamp(at), expected);
            let written = serde_json::to_value(Times { at, until: None }).unwrap();
            assert_eq!(written, serde_json::json!({ "at": expected, "until": null }));
            let written = serde_json::to_value(Times { at, until: Some(at) }).unwrap();
            assert_eq!(written["until"], expected);
        }
    }
}
