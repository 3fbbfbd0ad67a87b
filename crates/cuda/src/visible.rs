//! Which devices a program sees, and in which order: `CUDA_VISIBLE_DEVICES`, as the programming
//! guide of CUDA says.

/// Returns the identifier of a device of the machine.
pub(crate) fn uuid(device: i32) -> [u8; 16] {
    // No byte is zero: CuPy takes the identifier for a C string.
    let mut uuid = *b"simtlab-device-0";
    uuid[15] = b'0'.wrapping_add(device as u8).max(1);
    uuid
}

/// Returns the identifier without hyphens.
fn digits(device: i32) -> String {
    uuid(device).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the devices that a program sees, of so many. A list of numbers or of beginnings of
/// identifiers ends before the first that no device has; one that names a device twice is empty.
pub(crate) fn visible(list: Option<&str>, count: i32) -> Vec<i32> {
    let Some(list) = list else { return (0..count).collect() };
    let mut seen = Vec::new();
    for name in list.split(',') {
        let Some(device) = find(name.trim(), count) else { break };
        if seen.contains(&device) {
            return Vec::new();
        }
        seen.push(device);
    }
    seen
}

/// Returns the device with a number, or the only one whose identifier begins so.
fn find(name: &str, count: i32) -> Option<i32> {
    let Some(start) = name.strip_prefix("GPU-") else {
        let end = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len());
        return name[..end].parse().ok().filter(|device| (0..count).contains(device));
    };
    let start = start.replace('-', "").to_lowercase();
    let mut matching = (0..count).filter(|&device| digits(device).starts_with(&start));
    matching.next().filter(|_| matching.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_end_before_what_no_device_has() {
        for (list, expected) in [
            ("0", &[0][..]),
            (" 2 , 0", &[2, 0]),
            ("3,1,4,0", &[3, 1]),
            ("1,-1,0", &[1]),
            ("-1", &[]),
            ("", &[]),
            ("1,1", &[]),
            ("none", &[]),
            ("1x,2", &[1, 2]),
            ("99999999999", &[]),
            ("GPU-73696d74-6c61-622d-6465-766963652d32,0", &[2, 0]),
            ("GPU-73696d74", &[]),
            ("MIG-0", &[]),
        ] {
            assert_eq!(visible(Some(list), 4), expected, "{list}");
        }
        assert_eq!(visible(None, 3), [0, 1, 2]);
        assert_eq!(visible(Some("GPU-73"), 1), [0]);
    }
}
