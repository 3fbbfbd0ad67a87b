//! What becomes of launches whose accesses of memory are refused, and of those that stop.

use simt::memory::MapError;
use vm::UndefinedMemory;

use crate::context::Context;
use crate::stop::Stop;

/// What a fault does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Faults {
    /// It stops its launch and ends the use of its context, as on hardware.
    #[default]
    Stop,
    /// A lane whose access of memory is refused reads zero or stores nothing, and goes on; the
    /// access is reported. Other faults do what they do with [`Faults::Stop`].
    Warn,
    /// It stops its launch, whose effects on device memory are undone. The context can be used on.
    /// The same goes for hangs.
    Launch,
}

impl Faults {
    /// All, with their names.
    const NAMES: [(&'static str, Self); 3] =
        [("stop", Self::Stop), ("warn", Self::Warn), ("launch", Self::Launch)];

    /// Returns the one of a name: `stop`, `warn` or `launch`.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, faults)| faults)
    }
}

/// The refused accesses of an instruction from which a launch went on.
#[derive(Clone, Debug, PartialEq)]
pub struct ToleratedAccess {
    /// The first of them: cause and place.
    pub first: Stop,
    /// The number of issues of the instruction in which lanes were refused theirs.
    pub issues: u64,
}

/// What a launch is about to change, to undo it.
pub(crate) struct Undo {
    /// Memory and heap, unless the engine undoes their changes. Pages that the launch does not
    /// write are shared with the memory itself.
    memory: Option<engine::Undo>,
    undefined: Option<UndefinedMemory>,
}

impl Undo {
    /// Keeps what is to be known of a context: its memory, too, if the engine does not undo what
    /// the launch changes.
    pub(crate) fn keep(context: &mut Context, memory: bool) -> Self {
        let undefined = context.undefined().map(|undefined| undefined.clone());
        let memory = memory.then(|| engine::Undo::keep(&mut context.memory, Some(&context.heap)));
        Self { memory, undefined }
    }

    /// Makes the context's memory what it was.
    pub(crate) fn restore(self, context: &mut Context) -> Result<(), MapError> {
        if let Some(memory) = self.memory {
            memory.restore(&mut context.memory, Some(&mut context.heap))?;
        }
        if let (Some(now), Some(then)) = (context.undefined(), self.undefined) {
            *now = then;
        }
        Ok(())
    }
}
