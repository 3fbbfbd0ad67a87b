//! What a recording keeps of a launch, so that another debugger opens it at the same issue: where
//! the launch stood, and what was changed. Launches are deterministic: the rest is computed.

use simt::inspect::FramePlace;
use simt::observe::GroupId;

use crate::client::After;
use crate::session::Session;
use crate::session::motion::{Direction, Reason, Step};
use crate::target::{EndKind, TargetError};

/// A lane, as a recording names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LanePlace {
    /// The block.
    pub block: u64,
    /// The warp in it.
    pub warp: u32,
    /// The lane.
    pub lane: u32,
}

impl LanePlace {
    fn of(at: FramePlace) -> Self {
        Self { block: at.group.cta, warp: at.group.group, lane: at.lane }
    }

    fn place(self) -> FramePlace {
        let group = GroupId { cta: self.block, group: self.warp, first_thread: 0 };
        FramePlace { group, lane: self.lane, frame: 0 }
    }
}

/// A change by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The branch on which it was made.
    pub branch: usize,
    /// The position.
    pub position: u64,
    /// The lane in focus.
    pub focus: LanePlace,
    /// The command.
    pub command: String,
}

/// A launch as the debugger has left it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchRecord {
    /// The changes, in their order.
    pub changes: Vec<Change>,
    /// The branch of the recording.
    pub branch: usize,
    /// The position.
    pub position: u64,
    /// The lane in focus.
    pub focus: LanePlace,
    /// A digest of the state there.
    pub digest: u64,
    /// The mechanism under which the user has begun the launch again.
    pub again: Option<String>,
    /// How the launch ended, if it is of a run without the debugger: the code of its fault or hang,
    /// `done`, `interrupted`, or `hang` for any. The rest of the record is then unknown, but for
    /// the position where a limit was reached or the run was interrupted.
    pub ended: Option<String>,
}

/// Commands that change the state.
const CHANGES: [&str; 2] = ["set", "allocate"];

/// Whether a command is one that changes a launch.
#[must_use]
pub fn changes(command: &str) -> bool {
    let command = command.trim();
    let end = command.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    CHANGES.contains(&&command[..end.unwrap_or(command.len())])
}

impl Session<'_> {
    /// What the next command would change, if it is one that changes something.
    pub(crate) fn change(&self, name: &str, command: &str) -> Option<Change> {
        CHANGES.contains(&name).then(|| Change {
            branch: self.target.branches().1,
            position: self.look().position(),
            focus: LanePlace::of(self.focus()),
            command: command.to_owned(),
        })
    }

    /// Keeps what a recording needs of this launch, which the session leaves.
    pub fn keep_record(&mut self) {
        let again = self.target.again().filter(|_| self.debugger.again).map(str::to_owned);
        let record = LaunchRecord {
            changes: std::mem::take(&mut self.changes),
            branch: self.target.branches().1,
            position: self.look().position(),
            focus: LanePlace::of(self.focus()),
            digest: self.look().digest(),
            again,
            ended: None,
        };
        self.debugger.records.push(record);
    }

    /// Brings the launch to where the recording that is opened has it. Returns what becomes of it
    /// if it is not to be shown: launches before the last one of the recording run on, or begin
    /// again as they did. `None` if no recording is opened, or all its launches have been.
    ///
    /// # Errors
    /// If the launch does not come to the recorded state.
    pub fn reopen(&mut self) -> Option<Result<Option<After>, String>> {
        let record = self.debugger.reopened.pop_front()?;
        let last = self.debugger.reopened.is_empty();
        Some(match (&record.again, &record.ended) {
            (Some(mechanism), _) => {
                let begun = self.target.retry(Some(mechanism)).map_err(|error| error.to_string());
                begun.map(|()| Some(After::Again))
            }
            (None, _) if !last && record.changes.is_empty() => Ok(Some(After::Run)),
            (None, Some(ended)) => self.reopen_end(ended, record.position).map(|()| None),
            (None, None) => self.restore(&record).map(|()| (!last).then_some(After::Run)),
        })
    }

    /// Goes to the end of the launch, which is to be the recorded one.
    fn reopen_end(&mut self, ended: &str, position: u64) -> Result<(), String> {
        let failed = |error: TargetError| error.to_string();
        let stopped = ["limit", "interrupted"].contains(&ended);
        let until = if stopped { position } else { u64::MAX };
        let report = self.goto(until).map_err(failed)?;
        // A machine with a limit of its own says so at the next issue.
        if ended == "limit" {
            let next = self.step(Step::Issue, Direction::Forward).map_err(failed)?;
            if !matches!(next.reason, Reason::End(_)) {
                self.goto(position).map_err(failed)?;
            }
        }
        let hangs = self.look().end().is_some_and(|end| end.kind == EndKind::Hang);
        let code = self.look().end().map_or("issues left", |end| end.code);
        let same = code == ended || stopped || ended == "hang" && hangs;
        if same || report.reason == Reason::Interrupted {
            return Ok(());
        }
        Err(format!(
            "the launch ends with `{code}`, not with the recorded `{ended}`: another version of \
             Simtlab has made the recording"
        ))
    }

    fn restore(&mut self, record: &LaunchRecord) -> Result<(), String> {
        for change in &record.changes {
            // A recording may come from anybody, and other commands write files.
            if !changes(&change.command) {
                return Err(format!("`{}` of the recording changes nothing", change.command));
            }
            self.to(change.branch, change.position)?;
            self.set_focus(change.focus.place())?;
            if let Some(error) = self.command(&change.command).text.strip_prefix("error: ") {
                return Err(format!("`{}` of the recording: {}", change.command, error.trim_end()));
            }
        }
        self.to(record.branch, record.position)?;
        let position = self.look().position();
        if position != record.position || self.look().digest() != record.digest {
            return Err(format!(
                "the state at issue {position} is not the recorded one of issue {}: another \
                 version of Simtlab has made the recording",
                record.position
            ));
        }
        // A launch that has ended has no lanes.
        let _ = self.set_focus(record.focus.place());
        Ok(())
    }

    fn to(&mut self, branch: usize, position: u64) -> Result<(), String> {
        if self.target.branches().1 != branch {
            self.target.switch(branch).map_err(|error| error.to_string())?;
        }
        self.goto(position).map(drop).map_err(|error| error.to_string())
    }
}
