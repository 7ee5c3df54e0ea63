//! Fields of records that come in whatever form the next version of an agent gives them.

use serde::Deserialize;
use serde_json::Value;

/// A field in a form that is not known is as good as none: it must not cost the whole record.
pub(crate) fn lenient<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

/// The same where there is something to take instead.
pub(crate) fn lenient_or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::de::DeserializeOwned + Default,
{
    Ok(lenient(deserializer)?.unwrap_or_default())
}

/// The elements of a list that are in a known form.
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

/// How many values a record may hold that is read: many times what any agent prints. A value takes a hundred times the
/// memory of a letter.
const MOST_VALUES: usize = 100_000;

/// Whether a line of JSON holds no more values than can be read without harm. It is not looked at otherwise.
#[must_use]
pub fn is_readable(line: &str) -> bool {
    if line.len() <= MOST_VALUES {
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
    values <= MOST_VALUES
}

/// Reads a record; none when it is of another form, or too much.
pub(crate) fn read_record<T: serde::de::DeserializeOwned>(line: &str) -> Option<T> {
    is_readable(line).then(|| serde_json::from_str(line).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_too_many_values_is_not_read() {
        let many = |value: &str, times: usize| format!("[{}1]", value.repeat(times));
        assert!(is_readable(&many("1,", 90_000)));
        assert!(!is_readable(&many("1,", 200_000)));
        assert!(!is_readable(&many("[", 200_000)));
        // A text is one value, whatever stands in it.
        let text = format!("{{\"text\":\"{}\"}}", r#"a,[{\","#.repeat(200_000));
        assert!(is_readable(&text) && serde_json::from_str::<Value>(&text).is_ok());
    }
}
