//! Moments as texts: RFC 3339 in UTC to the thousandth of a second, all of one width, so that they sort as texts. Databases, JSON
//! and files have them so, and this is the only place that writes them.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A moment as a text.
#[must_use]
pub fn moment_text(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// Writes a moment, or that there is none, for `#[serde(serialize_with)]`.
///
/// # Errors
/// When it cannot be written.
pub fn serialize_moment<S: Serializer>(
    at: &(impl Copy + Into<Option<Timestamp>>),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let at: Option<Timestamp> = (*at).into();
    at.map(moment_text).serialize(serializer)
}

/// Reads a moment, or that there is none, for `#[serde(deserialize_with)]`.
///
/// # Errors
/// When there is something else.
pub fn deserialize_moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
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
            serialize_with = "serialize_moment",
            deserialize_with = "deserialize_moment"
        )]
        until: Option<Timestamp>,
    }

    #[test]
    fn what_is_written_is_read_again() {
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
        #[serde(serialize_with = "serialize_moment")]
        at: Timestamp,
        #[serde(serialize_with = "serialize_moment")]
        until: Option<Timestamp>,
    }

    #[test]
    fn moments_are_of_one_width() {
        for (text, expected) in [
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z"),
            ("2026-01-01T00:00:00.14Z", "2026-01-01T00:00:00.140Z"),
            ("2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00:00.123Z"),
        ] {
            let at: Timestamp = text.parse().unwrap();
            assert_eq!(moment_text(at), expected);
            let told = serde_json::to_value(Times { at, until: None }).unwrap();
            assert_eq!(told, serde_json::json!({ "at": expected, "until": null }));
            let told = serde_json::to_value(Times { at, until: Some(at) }).unwrap();
            assert_eq!(told["until"], expected);
        }
    }
}
