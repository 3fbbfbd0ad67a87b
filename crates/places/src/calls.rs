//! Calls of an interface that allocated and freed memory.

use std::fmt;
use std::sync::Arc;

/// A call of a function of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiCall {
    /// The function, as programs write it.
    pub function: Arc<str>,
    /// Which call of it in the process it was, from 1.
    pub number: u64,
}

/// `the 3rd call of cuMemAlloc`
impl fmt::Display for ApiCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { function, number } = self;
        let ending = match (number % 10, number % 100) {
            (_, 11..=13) => "th",
            (1, _) => "st",
            (2, _) => "nd",
            (3, _) => "rd",
            _ => "th",
        };
        write!(f, "the {number}{ending} call of {function}")
    }
}

/// The calls that a block of memory comes from and that freed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockHistory {
    /// Bytes that were asked for.
    pub bytes: u64,
    /// The call that allocated it.
    pub allocated: ApiCall,
    /// The call that freed it, if it is freed.
    pub freed: Option<ApiCall>,
}

/// `allocated by the 3rd call of cuMemAlloc (1024 bytes), freed by the 1st call of cuMemFree`
impl fmt::Display for BlockHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, allocated, freed } = self;
        let plural = if *bytes == 1 { "" } else { "s" };
        write!(f, "allocated by {allocated} ({bytes} byte{plural})")?;
        match freed {
            Some(call) => write!(f, ", freed by {call}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals() {
        let text = |number| ApiCall { function: "f".into(), number }.to_string();
        for (number, ordinal) in [
            (1, "1st"),
            (2, "2nd"),
            (3, "3rd"),
            (4, "4th"),
            (11, "11th"),
            (12, "12th"),
            (113, "113th"),
            (121, "121st"),
        ] {
            assert_eq!(text(number), format!("the {ordinal} call of f"));
        }
    }
}
