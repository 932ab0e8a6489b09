//! Whole numbers as JSON has them: `3` and `3.0` are one number, and some writers only know the second form.
//!
//! Without this a message that fits the published schema would be refused, since serde tells the two apart.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// For `deserialize_with`.
pub fn whole<'de, D: Deserializer<'de>, T: TryFrom<i128>>(deserializer: D) -> Result<T, D::Error> {
    Whole::deserialize(deserializer).map(|Whole(number)| number)
}

/// For `deserialize_with`, of a number that may be left out or null.
pub fn maybe_whole<'de, D: Deserializer<'de>, T: TryFrom<i128>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let number = Option::<Whole<T>>::deserialize(deserializer)?;
    Ok(number.map(|Whole(number)| number))
}

/// For `deserialize_with`, of a list of numbers.
pub fn wholes<'de, D: Deserializer<'de>, T: TryFrom<i128>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let numbers = Vec::<Whole<T>>::deserialize(deserializer)?;
    Ok(numbers.into_iter().map(|Whole(number)| number).collect())
}

/// For `deserialize_with`, of a count: in the range of the format `int64`, which is how the document describes it.
pub fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number: i64 = whole(deserializer)?;
    u64::try_from(number).map_err(|_| D::Error::custom("expected a number that is zero or more"))
}

struct Whole<T>(T);

impl<'de, T: TryFrom<i128>> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Whole<T>, D::Error> {
        deserializer.deserialize_any(Numbers(PhantomData)).map(Whole)
    }
}

struct Numbers<T>(PhantomData<T>);

impl<T: TryFrom<i128>> Numbers<T> {
    fn fit<E: Error>(self, number: i128) -> Result<T, E> {
        T::try_from(number).map_err(|_| E::custom(format_args!("{number} is out of range")))
    }
}

impl<T: TryFrom<i128>> Visitor<'_> for Numbers<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a whole number")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.fit(number.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.fit(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        if number.fract() == 0.0 {
            return self.fit(number as i128); // what is too large for 128 bits is too large for anything here
        }
        Err(E::invalid_value(Unexpected::Float(number), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Message {
        #[serde(deserialize_with = "whole")]
        code: i32,
        #[serde(default, deserialize_with = "maybe_whole")]
        step: Option<u32>,
        #[serde(default, deserialize_with = "count")]
        bytes: u64,
        #[serde(default, deserialize_with = "wholes")]
        parts: Vec<u64>,
    }

    fn message(code: i32, step: Option<u32>) -> Message {
        Message { code, step, bytes: 0, parts: Vec::new() }
    }

    fn read(json: &str) -> Result<Message, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_fraction_of_zero_is_no_fraction() {
        for json in
            [r#"{"code":-3,"step":7}"#, r#"{"code":-3.0,"step":7.0}"#, r#"{"code":-0.3e1,"step":0.7e1}"#]
        {
            assert_eq!(read(json), Ok(message(-3, Some(7))), "{json}");
        }
        for json in [r#"{"code":0}"#, r#"{"code":-0.0,"step":null}"#] {
            assert_eq!(read(json), Ok(message(0, None)), "{json}");
        }
        assert_eq!(read(r#"{"code":0,"parts":[5.0,6]}"#).map(|message| message.parts), Ok(vec![5, 6]));
    }

    #[test]
    fn what_is_not_whole_or_does_not_fit_is_refused() {
        for code in ["1.5", "2147483648", "2147483648.0", "-1e300", "1e300", "\"1\"", "true", "null", "[]"] {
            assert!(read(&format!("{{\"code\":{code}}}")).is_err(), "{code}");
        }
        for step in ["-1", "-1.0", "0.5", "4294967296", "\"1\""] {
            assert!(read(&format!("{{\"code\":1,\"step\":{step}}}")).is_err(), "{step}");
        }
        for parts in ["5", "[-1]", "[0.5]", "[\"5\"]", "null"] {
            assert!(read(&format!("{{\"code\":1,\"parts\":{parts}}}")).is_err(), "{parts}");
        }
        for bytes in ["-1", "9223372036854775808", "1e19", "null"] {
            assert!(read(&format!("{{\"code\":1,\"bytes\":{bytes}}}")).is_err(), "{bytes}");
        }
        let most = read(r#"{"code":1,"bytes":9223372036854775807}"#).expect("it fits");
        assert_eq!(most.bytes, i64::MAX as u64);
    }
}
