//! JSON as JavaScript has it. Its texts may hold halves of characters, its numbers are all of one kind, and its objects have
//! an order of their own; a checksum over what it writes can only be had again by whoever keeps all of that.

mod parse;
mod write;

use std::fmt;

use sha2::{Digest, Sha256};

pub use parse::{JsonProblem, parse};
pub use write::{compact, indented};

/// Keys below this one stand before all others, in the order of their numbers.
const NO_INDEX: u32 = u32::MAX;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum JsValue {
    /// Nothing.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number; one that is too large is infinite, and written as nothing.
    Number(f64),
    /// A text.
    Text(JsText),
    /// Values in a row.
    List(Vec<Self>),
    /// Values by their names.
    Object(JsObject),
}

impl JsValue {
    /// The text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&JsText> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is one.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The values, if it is a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(values) => Some(values),
            _ => None,
        }
    }

    /// The object, if it is one.
    #[must_use]
    pub fn as_object(&self) -> Option<&JsObject> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// What kind of value it is, in a word for people.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

impl From<&str> for JsValue {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<f64> for JsValue {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for JsValue {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<JsObject> for JsValue {
    fn from(object: JsObject) -> Self {
        Self::Object(object)
    }
}

/// A text as JavaScript has it: units of 16 bits, which may be halves of a character.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct JsText(Vec<u16>);

impl JsText {
    /// Whether it is this text.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        // A unit is never more than three bytes.
        self.0.len() <= text.len() && text.encode_utf16().eq(self.0.iter().copied())
    }

    /// The text; a sign of replacement stands for every half of a character.
    #[must_use]
    pub fn to_text(&self) -> String {
        String::from_utf16_lossy(&self.0)
    }

    /// The number that it is as the key of a list; none where it is the name of something.
    fn index(&self) -> u32 {
        const LONGEST: usize = 10;
        let is_digit = |unit: &u16| (u16::from(b'0')..=u16::from(b'9')).contains(unit);
        let has_zero_in_front = self.0.first() == Some(&u16::from(b'0')) && self.0.len() > 1;
        if self.0.is_empty() || self.0.len() > LONGEST || has_zero_in_front || !self.0.iter().all(is_digit) {
            return NO_INDEX;
        }
        self.to_text().parse().unwrap_or(NO_INDEX)
    }
}

impl From<&str> for JsText {
    fn from(text: &str) -> Self {
        Self(text.encode_utf16().collect())
    }
}

impl fmt::Debug for JsText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&compact(&JsValue::Text(self.clone())))
    }
}

/// An object: values by their names, each once, in the order in which JavaScript goes through them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JsObject(Vec<(JsText, JsValue)>);

impl JsObject {
    /// The object of these members. Of those with the same name the last has the value and the first the place; names that
    /// are numbers stand before all others.
    #[must_use]
    pub fn of(members: Vec<(JsText, JsValue)>) -> Self {
        let mut numbered: Vec<(usize, (JsText, JsValue))> = members.into_iter().enumerate().collect();
        // Stable: those with the same name stay in their order.
        numbered.sort_by(|(_, (one, _)), (_, (other, _))| one.cmp(other));
        numbered.dedup_by(|(_, (later, value)), (_, (name, kept))| {
            let is_again = later == name;
            if is_again {
                std::mem::swap(value, kept);
            }
            is_again
        });
        numbered.sort_by_key(|(at, (name, _))| (name.index(), *at));
        Self(numbered.into_iter().map(|(_, member)| member).collect())
    }

    /// The object of these members, which have different names.
    #[must_use]
    pub fn from_pairs<const N: usize>(members: [(&str, JsValue); N]) -> Self {
        Self::of(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// The value of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&JsValue> {
        let found = self.0.iter().find(|(own, _)| own.is(name));
        found.map(|(_, value)| value)
    }

    /// Gives a name this value. One that is there stays in its place.
    pub fn set(&mut self, name: &str, value: JsValue) {
        if let Some((_, own)) = self.0.iter_mut().find(|(own, _)| own.is(name)) {
            *own = value;
            return;
        }
        let mut members = std::mem::take(&mut self.0);
        members.push((name.into(), value));
        *self = Self::of(members);
    }

    /// Takes the member of this name out.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(own, _)| !own.is(name));
    }

    /// The members, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&JsText, &JsValue)> {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

/// The SHA-256 of a text or of bytes, in hex digits.
#[must_use]
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    let digits = Sha256::digest(bytes);
    digits.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stand_where_javascript_has_them() {
        let value = parse(br#"{"b":1,"10":2,"a":3,"2":4,"b":5,"02":6,"4294967294":7,"4294967295":8,"-1":9}"#).unwrap();
        insta::assert_snapshot!(
            compact(&value),
            @r#"{"2":4,"10":2,"4294967294":7,"b":5,"a":3,"02":6,"4294967295":8,"-1":9}"#
        );
    }

    #[test]
    fn a_value_that_is_set_stays_in_its_place() {
        let mut object = JsObject::from_pairs([("b", JsValue::Null), ("a", 1.0.into())]);
        object.set("b", "new".into());
        object.set("7", true_value());
        object.set("c", JsValue::List(Vec::new()));
        assert_eq!(compact(&object.clone().into()), r#"{"7":true,"b":"new","a":1,"c":[]}"#);
        assert_eq!(object.get("a"), Some(&JsValue::Number(1.0)));
        assert_eq!(object.get("A"), None);
    }

    fn true_value() -> JsValue {
        JsValue::Bool(true)
    }

    #[test]
    fn hashes_are_written_in_hex_digits() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(""), empty);
    }
}
