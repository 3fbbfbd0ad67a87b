//! The encoder: a form and the values of its fields to a word.

use crate::table::decode::Instruction;
use crate::table::{FieldError, Form, FormId, Table};

/// Why values cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A value that its field cannot hold.
    #[error("{form}: {error}")]
    Field {
        /// Name of the form.
        form: String,
        /// What is wrong.
        error: FieldError,
    },
    /// Not one value for each field.
    #[error("{form} has {expected} fields, not {given}")]
    Count {
        /// Name of the form.
        form: String,
        /// How many fields it has.
        expected: usize,
        /// How many values were given.
        given: usize,
    },
    /// The table has no form of this name.
    #[error("there is no form `{0}`")]
    NoSuchForm(String),
    /// The form has no field of this name.
    #[error("{form} has no field `{field}`")]
    NoSuchField {
        /// Name of the form.
        form: String,
        /// The name.
        field: String,
    },
}

impl Form {
    /// The word with these field values, in the order of [`Form::fields`].
    ///
    /// # Errors
    /// The first value that its field cannot hold, or a wrong number of values.
    pub fn encode(&self, values: &[i64]) -> Result<u64, EncodeError> {
        if values.len() != self.fields.len() {
            let (expected, given) = (self.fields.len(), values.len());
            return Err(EncodeError::Count { form: self.name.clone(), expected, given });
        }
        self.fields.iter().zip(values).try_fold(self.pattern, |word, (field, &value)| {
            field
                .insert(word, value)
                .map_err(|error| EncodeError::Field { form: self.name.clone(), error })
        })
    }

    /// The word with every field at its default.
    #[must_use]
    pub fn default_word(&self) -> u64 {
        // Validation has encoded every default once, so none is lost here.
        self.fields.iter().fold(self.pattern, |w, f| f.insert(w, f.default_value()).unwrap_or(w))
    }
}

impl Table {
    /// Encodes a form with these field values, in the order of [`Form::fields`].
    ///
    /// # Errors
    /// As [`Form::encode`].
    pub fn encode(&self, form: FormId, values: &[i64]) -> Result<Instruction, EncodeError> {
        let word = self.form(form).encode(values)?;
        Ok(Instruction { form, word })
    }

    /// Encodes a form, both it and its fields given by name; fields not named have their defaults.
    ///
    /// # Errors
    /// Names that do not exist and values that do not fit.
    pub fn encode_named(
        &self,
        form: &str,
        values: &[(&str, i64)],
    ) -> Result<Instruction, EncodeError> {
        let id = self.find(form).ok_or_else(|| EncodeError::NoSuchForm(form.to_owned()))?;
        let form = self.form(id);
        let mut word = form.default_word();
        for &(name, value) in values {
            let no_field =
                || EncodeError::NoSuchField { form: form.name.clone(), field: name.to_owned() };
            let field = form.field(name).ok_or_else(no_field)?;
            word = field
                .insert(word, value)
                .map_err(|error| EncodeError::Field { form: form.name.clone(), error })?;
        }
        Ok(Instruction { form: id, word })
    }
}

impl Instruction {
    /// The instruction's bytes in memory (little-endian).
    #[must_use]
    pub fn to_bytes(self, table: &Table) -> Vec<u8> {
        self.word.to_le_bytes()[..table.form(self.form).bytes()].to_vec()
    }
}
