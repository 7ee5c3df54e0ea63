//! Deserializers that tolerate fields in an unknown form.

use serde::Deserialize;
use serde_json::Value;

/// Treats a field in an unknown form as missing, so that the rest of the record survives.
pub(crate) fn lenient<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

/// Like [`lenient`], with a default.
pub(crate) fn lenient_or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::de::DeserializeOwned + Default,
{
    Ok(lenient(deserializer)?.unwrap_or_default())
}

/// The list elements in a known form.
pub(crate) fn lenient_list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let values: Vec<Value> = lenient_or_default(deserializer)?;
    Ok(values
        .into_iter()
        .filter_map(|value| serde_json::from_value(value).ok())
        .collect())
}

/// The largest number of values in a record: far more than any agent prints. A value takes a hundred times the memory
/// of a character.
const MAX_VALUES: usize = 100_000;

/// Whether a line of JSON has few enough values to be parsed safely. Does not validate it.
#[must_use]
pub fn is_readable(line: &str) -> bool {
    if line.len() <= MAX_VALUES {
        return true;
    }
    let (mut values, mut in_text, mut is_escaped) = (0_usize, false, false);
    for byte in line.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_text,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => values += 1,
            _ => {}
        }
    }
    values <= MAX_VALUES
}

/// Parses a record; `None` if it has another form or too many values.
pub(crate) fn read_record<T: serde::de::DeserializeOwned>(line: &str) -> Option<T> {
    is_readable(line).then(|| serde_json::from_str(line).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_with_too_many_values_is_rejected() {
        let many = |value: &str, times: usize| format!("[{}1]", value.repeat(times));
        assert!(is_readable(&many("1,", 90_000)));
        assert!(!is_readable(&many("1,", 200_000)));
        assert!(!is_readable(&many("[", 200_000)));
        // A string is one value, whatever it contains.
        let text = format!("{{\"text\":\"{}\"}}", r#"a,[{\","#.repeat(200_000));
        assert!(is_readable(&text) && serde_json::from_str::<Value>(&text).is_ok());
    }
}
