//! The core schema of YAML 1.2: what a plain scalar is.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Null,
    Flag(bool),
    /// A whole number; none where it does not fit.
    Whole(Option<i64>),
    Decimal,
    Text,
    List,
    Table,
}

impl Kind {
    /// With its article, for sentences.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Null => "nothing",
            Kind::Flag(_) => "`true` or `false`",
            Kind::Whole(_) | Kind::Decimal => "a number",
            Kind::Text => "a text",
            Kind::List => "a list",
            Kind::Table => "a table",
        }
    }
}

pub fn kind_of(plain: &str) -> Kind {
    match plain {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Flag(true),
        "false" | "False" | "FALSE" => Kind::Flag(false),
        _ => number(plain).unwrap_or(Kind::Text),
    }
}

fn number(text: &str) -> Option<Kind> {
    let whole = |digits: &str, base: u32| {
        let fits = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base));
        fits.then(|| Kind::Whole(i64::from_str_radix(digits, base).ok()))
    };
    if let Some(digits) = text.strip_prefix("0x") {
        return whole(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return whole(digits, 8);
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if let Some(Kind::Whole(_)) = whole(digits, 10) {
        return Some(Kind::Whole(text.parse().ok()));
    }
    is_decimal(text, digits).then_some(Kind::Decimal)
}

fn is_decimal(text: &str, unsigned: &str) -> bool {
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    // Rust reads more than that, such as `inf` and `nan`, but nothing that begins so.
    let begins = unsigned.trim_start_matches('.').starts_with(|letter: char| letter.is_ascii_digit());
    begins && unsigned.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_scalar_is_what_the_core_schema_says() {
        for text in ["", "~", "null", "NULL"] {
            assert_eq!(kind_of(text), Kind::Null, "{text}");
        }
        for (text, number) in [("0", 0), ("-7", -7), ("+7", 7), ("007", 7), ("0x1F", 31), ("0o17", 15)] {
            assert_eq!(kind_of(text), Kind::Whole(Some(number)), "{text}");
        }
        assert_eq!(kind_of("99999999999999999999"), Kind::Whole(None));
        for text in ["1.10", ".5", "5.", "1e3", "-1.5E-3", ".inf", "-.INF", ".nan"] {
            assert_eq!(kind_of(text), Kind::Decimal, "{text}");
        }
        assert_eq!((kind_of("true"), kind_of("FALSE")), (Kind::Flag(true), Kind::Flag(false)));
        for text in [
            "on", "yes", "no", "off", "y", "tRue", "nULL", "1_000", "0x", "0o8", "0xg", "-", "+", ".", "..1",
            "1.2.3", "inf", "nan", "1e", "12:30:45", "e5", "infinity", "- 1",
        ] {
            assert_eq!(kind_of(text), Kind::Text, "{text}");
        }
    }
}
