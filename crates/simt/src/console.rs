//! The console of a program: bytes that it has printed, and bytes that it can read.

/// More output than this stops a run.
pub const OUTPUT_LIMIT: usize = 16 << 20;

/// Adds to the output of a run what there is room for; returns whether that is all.
pub fn append(output: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let room = OUTPUT_LIMIT.saturating_sub(output.len());
    let (fits, rest) = bytes.split_at(bytes.len().min(room));
    output.extend_from_slice(fits);
    rest.is_empty()
}

/// Output and input of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Console {
    /// The output printed so far.
    pub output: Vec<u8>,
    /// The input.
    pub input: Vec<u8>,
    /// Number of bytes of the input that have been read.
    pub read: usize,
    /// Whether more was printed than [`OUTPUT_LIMIT`].
    pub overflow: bool,
}

impl Console {
    /// Adds to the output what there is room for.
    pub fn print(&mut self, bytes: &[u8]) {
        self.overflow |= !append(&mut self.output, bytes);
    }

    /// Takes at most `most` bytes of the input.
    pub fn take_input(&mut self, most: u64) -> Vec<u8> {
        let rest = self.input.get(self.read..).unwrap_or_default();
        let count = usize::try_from(most).unwrap_or(usize::MAX).min(rest.len());
        let taken = rest.get(..count).unwrap_or_default().to_vec();
        self.read += count;
        taken
    }
}
