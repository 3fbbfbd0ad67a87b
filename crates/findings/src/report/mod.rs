//! Findings as text for people, and in the forms that tools of continuous integration read.

mod github;
mod json;
mod junit;
mod read;
mod sarif;
mod text;

use std::fmt;

use isa::suggest::nearest;

use crate::found::Findings;

pub use json::{FINDINGS_SCHEMA_NAME, FINDINGS_VERSION, finding_to_json, to_json};
pub use read::finding_from_json;
pub use text::{diagnostics, summary};

/// A form of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text for people.
    Text,
    /// JSON as docs/checks.md describes it.
    Json,
    /// SARIF 2.1.0 (OASIS), which code scanning services read.
    Sarif,
    /// XML in the form of JUnit, which servers of continuous integration read.
    Junit,
    /// Annotations of GitHub's workflows.
    Github,
}

impl Format {
    /// All forms.
    pub const ALL: [Self; 5] = [Self::Text, Self::Json, Self::Sarif, Self::Junit, Self::Github];

    /// Returns the name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Sarif => "sarif",
            Self::Junit => "junit",
            Self::Github => "github",
        }
    }

    /// Parses a name.
    ///
    /// # Errors
    /// Returns a message that names the forms, if the name is none of them.
    pub fn parse(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let near = nearest(name, names);
            let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            format!("there is no report `{name}`: they are {}{hint}", names.join(", "))
        })
    }

    /// Renders findings; `None` for text, which [`diagnostics`] and a renderer make.
    #[must_use]
    pub fn render(self, findings: &Findings) -> Option<String> {
        match self {
            Self::Text => None,
            Self::Json => Some(format!("{:#}\n", to_json(findings))),
            Self::Sarif => Some(format!("{:#}\n", sarif::to_sarif(findings))),
            Self::Junit => Some(junit::to_junit(findings)),
            Self::Github => Some(github::to_annotations(findings)),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What SARIF, JUnit and annotations say of a finding: what is wrong, why, and what to do.
fn sentence(finding: &crate::Finding) -> String {
    let mut out = match &*finding.kernel {
        "" => finding.message.clone(),
        kernel => format!("{} (kernel `{}`)", finding.message, places::shown(kernel)),
    };
    for cause in &finding.causes {
        out.push_str(". ");
        out.push_str(cause);
    }
    out.push_str(". ");
    out.push_str(&finding.cure);
    out
}
