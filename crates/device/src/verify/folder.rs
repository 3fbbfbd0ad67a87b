//! The folder of results: the device it belongs to, and what has been done.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{CaseResult, VerifyError, at, result};
use crate::record::{Identity, TOOL};

/// The file that names the device.
const FILE: &str = "device.json";

/// Whose results a folder has.
#[derive(Serialize, Deserialize)]
struct Owner {
    /// The program that made the cases. Another version has other cases under the same names.
    #[serde(default)]
    tool: String,
    #[serde(flatten)]
    device: Identity,
}

/// The owner of a folder; none if it has none yet.
fn owner(folder: &Path) -> Result<Option<Owner>, VerifyError> {
    let path = folder.join(FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at(&path)(error)),
    };
    let owner: Owner = serde_json::from_str(&text).map_err(|e| VerifyError::Damaged {
        path: path.display().to_string(),
        why: e.to_string(),
    })?;
    if owner.tool == TOOL {
        return Ok(Some(owner));
    }
    let found = if owner.tool.is_empty() { "an unknown version" } else { &owner.tool };
    Err(VerifyError::OtherVersion {
        folder: folder.display().to_string(),
        found: found.to_owned(),
        this: TOOL.to_owned(),
    })
}

/// The device and the results in a folder.
///
/// # Errors
/// If it has none, they are those of another version of this program, or they cannot be read.
pub fn results(folder: &Path) -> Result<(Identity, Vec<CaseResult>), VerifyError> {
    let missing = || at(&folder.join(FILE))(std::io::ErrorKind::NotFound.into());
    let owner = owner(folder)?.ok_or_else(missing)?;
    Ok((owner.device, result::read(folder)?))
}

/// Makes the folder one of this device, or finds that it is one.
pub(super) fn claim(folder: &Path, device: &Identity) -> Result<(), VerifyError> {
    if let Some(Owner { device: known, .. }) = owner(folder)? {
        let same = (&known.uuid, known.driver, known.simulated)
            == (&device.uuid, device.driver, device.simulated);
        let folder = folder.display().to_string();
        let other = || VerifyError::OtherDevice { folder, of: known.line() };
        return if same { Ok(()) } else { Err(other()) };
    }
    let path = folder.join(FILE);
    let owner = Owner { tool: TOOL.to_owned(), device: device.clone() };
    let text = serde_json::to_string_pretty(&owner).unwrap_or_default();
    std::fs::write(&path, text + "\n").map_err(at(&path))
}
