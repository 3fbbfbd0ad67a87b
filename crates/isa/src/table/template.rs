//! Syntax templates: how a form is written, for assembler and disassembler alike.
//!
//! ```text
//! lw {rd:x}, {imm}({rs1:x}){?, {pred:p}{?, {end}{?, {start}}}}
//! ```
//! Everything outside braces stands for itself; in text that is read, blanks may stand between any
//! two tokens. `{field:kind}` is an operand (`{field}` for kind `int`; `{a,b:kind}` for a kind that
//! sets several fields). `{?...}` is an optional part: left out when printed if all its fields have
//! their defaults, and set to the defaults when it is not written. A backslash takes a brace
//! literally. The text up to the first blank, brace or end is the mnemonic; a trailing dot there
//! belongs to what follows, so `fadd.{t:fmt} ...` has the mnemonic `fadd`.

use super::kind::KindId;

/// One part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text that stands for itself.
    Literal(String),
    /// An operand: indices of fields of the form, and the kind.
    Operand {
        /// Indices into [`Form::fields`](super::Form::fields), in the order that the kind expects.
        fields: Vec<usize>,
        /// How it is written.
        kind: KindId,
    },
    /// A part that may be left out when all its fields have their defaults.
    Optional(Vec<Part>),
}

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// As it was declared.
    pub text: String,
    /// The mnemonic.
    pub mnemonic: String,
    /// What follows the mnemonic.
    pub parts: Vec<Part>,
}

impl Template {
    /// Calls `f` with the index of each field that is written, in order.
    pub fn for_each_field(&self, mut f: impl FnMut(usize)) {
        for_each_field(&self.parts, &mut f);
    }
}

/// Calls `f` with the index of each field of these parts, those of optional parts included.
pub(crate) fn for_each_field(parts: &[Part], f: &mut impl FnMut(usize)) {
    for part in parts {
        match part {
            Part::Literal(_) => {}
            Part::Operand { fields, .. } => fields.iter().for_each(|&i| f(i)),
            // The parser below bounds the depth.
            Part::Optional(inner) => for_each_field(inner, f),
        }
    }
}

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// No mnemonic.
    #[error("the syntax does not start with a mnemonic")]
    NoMnemonic,
    /// `{` and `}` do not pair up.
    #[error("`{{` and `}}` do not pair up")]
    Unbalanced,
    /// Optional parts inside one another beyond all reason.
    #[error("more than {MAX_DEPTH} optional parts inside one another")]
    TooDeep,
    /// The template names a field that the form does not have.
    #[error("the syntax names `{0}`, which is not a field of the form")]
    NoSuchField(String),
    /// A field is written twice.
    #[error("the syntax names `{0}` twice")]
    Twice(String),
    /// The template names a kind that the table does not have.
    #[error("the syntax names the operand kind `{0}`, which is not declared")]
    NoSuchKind(String),
    /// A built-in or names kind with several fields.
    #[error("operand kind `{0}` takes one field; only a custom kind takes several")]
    OneField(String),
    /// An optional part without a field could never be printed.
    #[error("an optional part without a field")]
    EmptyOptional,
}

/// How deep optional parts may lie inside one another.
const MAX_DEPTH: usize = 16;

/// Finds fields and kinds by name for [`parse`].
pub(super) struct Scope<'a> {
    pub(super) field: &'a dyn Fn(&str) -> Option<usize>,
    /// The kind and whether it takes several fields.
    pub(super) kind: &'a dyn Fn(&str) -> Option<(KindId, bool)>,
}

/// Parses a template.
pub(super) fn parse(text: &str, scope: &Scope<'_>) -> Result<Template, TemplateError> {
    let end = text.find(|c: char| c.is_whitespace() || c == '{').unwrap_or(text.len());
    let mnemonic = text[..end].trim_end_matches('.');
    if mnemonic.is_empty() {
        return Err(TemplateError::NoMnemonic);
    }
    let mut parser = Parser { rest: &text[mnemonic.len()..], scope, seen: Vec::new() };
    let parts = parser.parts(0)?;
    if !parser.rest.is_empty() {
        return Err(TemplateError::Unbalanced);
    }
    Ok(Template { text: text.to_owned(), mnemonic: mnemonic.to_owned(), parts })
}

struct Parser<'a> {
    rest: &'a str,
    scope: &'a Scope<'a>,
    seen: Vec<usize>,
}

impl Parser<'_> {
    /// Parts up to the end or to an unpaired `}`, which is left.
    fn parts(&mut self, depth: usize) -> Result<Vec<Part>, TemplateError> {
        if depth > MAX_DEPTH {
            return Err(TemplateError::TooDeep);
        }
        let mut parts = Vec::new();
        let mut literal = String::new();
        while let Some(c) = self.rest.chars().next() {
            if c == '}' {
                break;
            }
            self.rest = &self.rest[c.len_utf8()..];
            if c == '\\' {
                let escaped = self.rest.chars().next().ok_or(TemplateError::Unbalanced)?;
                self.rest = &self.rest[escaped.len_utf8()..];
                literal.push(escaped);
            } else if c == '{' {
                if !literal.is_empty() {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                }
                parts.push(self.braces(depth)?);
            } else {
                literal.push(c);
            }
        }
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(parts)
    }

    /// What stands after `{`, up to and with its `}`.
    fn braces(&mut self, depth: usize) -> Result<Part, TemplateError> {
        if let Some(rest) = self.rest.strip_prefix('?') {
            self.rest = rest;
            let inner = self.parts(depth + 1)?;
            self.rest = self.rest.strip_prefix('}').ok_or(TemplateError::Unbalanced)?;
            let mut any = false;
            for_each_field(&inner, &mut |_| any = true);
            return if any { Ok(Part::Optional(inner)) } else { Err(TemplateError::EmptyOptional) };
        }
        let (inside, rest) = self.rest.split_once('}').ok_or(TemplateError::Unbalanced)?;
        self.rest = rest;
        let (names, kind_name) = inside.split_once(':').unwrap_or((inside, "int"));
        let (kind, several) = (self.scope.kind)(kind_name)
            .ok_or_else(|| TemplateError::NoSuchKind(kind_name.into()))?;
        let mut fields = Vec::new();
        for name in names.split(',') {
            let index = (self.scope.field)(name)
                .ok_or_else(|| TemplateError::NoSuchField(name.to_owned()))?;
            if self.seen.contains(&index) {
                return Err(TemplateError::Twice(name.to_owned()));
            }
            self.seen.push(index);
            fields.push(index);
        }
        if fields.len() > 1 && !several {
            return Err(TemplateError::OneField(kind_name.to_owned()));
        }
        Ok(Part::Operand { fields, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn try_parse(text: &str) -> Result<Template, TemplateError> {
        let field = |name: &str| ["a", "b", "c"].iter().position(|&n| n == name);
        let kind = |name: &str| match name {
            "int" => Some((KindId(0), false)),
            "many" => Some((KindId(1), true)),
            _ => None,
        };
        parse(text, &Scope { field: &field, kind: &kind })
    }

    #[test]
    fn parts_nest() {
        let t = try_parse("op.{a} x\\{, {?[{b,c:many}]}").unwrap();
        assert_eq!(t.mnemonic, "op");
        let lit = |s: &str| Part::Literal(s.to_owned());
        let many = Part::Operand { fields: vec![1, 2], kind: KindId(1) };
        assert_eq!(
            t.parts,
            [
                lit("."),
                Part::Operand { fields: vec![0], kind: KindId(0) },
                lit(" x{, "),
                Part::Optional(vec![lit("["), many, lit("]")]),
            ]
        );
    }

    #[test]
    fn every_mistake_has_its_error() {
        use TemplateError as E;
        let cases: [(&str, E); 9] = [
            ("{a}", E::NoMnemonic),
            ("x {a", E::Unbalanced),
            ("x a}", E::Unbalanced),
            ("x {z}", E::NoSuchField("z".into())),
            ("x {a} {a}", E::Twice("a".into())),
            ("x {a:q}", E::NoSuchKind("q".into())),
            ("x {a,b}", E::OneField("int".into())),
            ("x {?,}", E::EmptyOptional),
            ("x \\", E::Unbalanced),
        ];
        for (text, error) in cases {
            assert_eq!(try_parse(text), Err(error), "{text}");
        }
        let deep = format!("x {}", "{?".repeat(100_000));
        assert_eq!(try_parse(&deep), Err(E::TooDeep));
    }
}
