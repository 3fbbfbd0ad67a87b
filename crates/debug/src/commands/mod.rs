//! The command language.

mod data;
mod points;
mod running;
mod show;

use crate::client::After;
use crate::session::Session;

pub use show::{stop as stopped, summary};

/// Longest command in bytes: expressions are nested at most that deep.
const LONGEST: usize = 2048;

/// The answer to a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Text, whose lines end with newlines.
    pub text: String,
    /// What becomes of the launch, if the command ends the session with it.
    pub after: Option<After>,
}

/// The text of an answer, or what is wrong.
type Answer = Result<String, String>;

/// What a command does.
enum Does {
    /// It answers.
    Answers(fn(&mut Session<'_>, &str) -> Answer),
    /// It ends the session with this launch.
    Leaves(After),
}

/// A command.
struct Command {
    /// The name, then its short forms.
    names: &'static [&'static str],
    /// Its arguments.
    arguments: &'static str,
    about: &'static str,
    does: Does,
}

const fn command(
    names: &'static [&'static str],
    arguments: &'static str,
    about: &'static str,
    does: fn(&mut Session<'_>, &str) -> Answer,
) -> Command {
    Command { names, arguments, about, does: Does::Answers(does) }
}

/// All commands, in the order of `help`.
static COMMANDS: &[Command] = &[
    command(&["continue", "c"], "", "run to the next breakpoint, or the end", running::resume),
    command(&["step", "s"], "[N]", "to another line", running::line),
    command(&["next", "n"], "[N]", "to another line, over calls", running::over),
    command(&["stepi", "si"], "[N]", "issue one instruction", running::issue),
    command(&["finish", "fin"], "", "out of the function", running::out),
    command(&["rejoin"], "", "until the lane meets lanes that it parted from", running::rejoin),
    command(&["barrier"], "", "until a barrier of the block is released", running::barrier),
    command(
        &["reverse-continue", "rc"],
        "",
        "back to the last breakpoint, or the start",
        running::back,
    ),
    command(&["reverse-step", "rs"], "[N]", "back to the begin of a line", running::back_line),
    command(&["reverse-next", "rn"], "[N]", "the same, over calls", running::back_over),
    command(&["reverse-stepi", "rsi"], "[N]", "back by one issue", running::back_issue),
    command(&["reverse-finish"], "", "back to the call of the function", running::back_out),
    command(&["reverse-rejoin"], "", "back to where the lane parted", running::back_rejoin),
    command(&["reverse-barrier"], "", "back to the last release", running::back_barrier),
    command(&["rewind", "goto"], "ISSUE", "go to a position, forwards or backwards", running::goto),
    command(&["restart"], "", "go to the start of the launch", running::restart),
    command(&["follow"], "lane|warp|launch", "whose instructions steps count", running::follow),
    command(
        &["break", "b"],
        "[LINE|FILE:LINE|*ADDRESS|FUNCTION] [if CONDITION]",
        "stop before an instruction",
        points::place,
    ),
    command(&["tbreak", "tb"], "...", "the same, once", points::place_once),
    command(
        &["watch"],
        "REGISTER|[ADDRESS]:TYPE|VARIABLE [BYTES] [if CONDITION]",
        "stop when it changes",
        points::watch,
    ),
    command(&["rwatch"], "[ADDRESS]:TYPE ...", "stop when it is read", points::watch_reads),
    command(&["awatch"], "[ADDRESS]:TYPE ...", "stop at any access", points::watch_any),
    command(
        &["catch"],
        "split|merge|arrive|release|block|race|mask LANES|difference MECHANISM [if CONDITION]",
        "stop at an event",
        points::catch,
    ),
    command(&["delete", "d"], "[N ...]", "remove breakpoints, or all", points::delete),
    command(&["enable"], "N", "let a breakpoint stop", points::enable),
    command(&["disable"], "N", "do not let it stop", points::disable),
    command(&["condition"], "N [CONDITION]", "set or remove a condition", points::condition),
    command(&["ignore"], "N COUNT", "let the next hits pass", points::ignore),
    command(
        &["focus"],
        "[block B] [warp W] [lane L] [thread T]",
        "look at another lane",
        data::focus,
    ),
    command(&["frame", "f"], "N", "look at another frame", data::frame),
    command(&["up"], "", "the caller's frame", data::up),
    command(&["down"], "", "the called frame", data::down),
    command(&["where", "backtrace", "bt"], "", "frames of the lane in focus", data::backtrace),
    command(&["list", "l"], "[LINE]", "lines of the program", data::list),
    command(&["print", "p"], "EXPRESSION", "a value in the lane in focus", data::print),
    command(&["lanes"], "EXPRESSION", "a value in all lanes of the warp", data::lanes),
    command(&["x"], "[/COUNT] [SPACE][ADDRESS]:TYPE", "memory", data::examine),
    command(
        &["who"],
        "REGISTER|[ADDRESS]:TYPE [depth N]",
        "who wrote it last, and what that depended on",
        data::who,
    ),
    command(&["history"], "REGISTER [N]", "its last values, with who wrote them", data::history),
    command(
        &["info", "i"],
        "lanes|registers|locals|mechanism|barriers|shared|variables|allocations|breakpoints|branches|\
         recording|output|line",
        "the state",
        data::info,
    ),
    command(
        &["set"],
        "REGISTER[@LANE] = EXPRESSION | [ADDRESS]:TYPE = EXPRESSION | mask = LANES",
        "change the state: a new branch begins",
        data::set,
    ),
    command(&["allocate"], "NAME BYTES", "allocate global memory", data::allocate),
    command(&["branch"], "N", "go to the begin of a branch", data::branch),
    command(&["log"], "FILE [FROM] [TO]", "write executed instructions to a file", data::log),
    command(&["digest"], "", "a digest of the complete state", data::digest),
    command(&["help", "h"], "[COMMAND]", "this", help),
    Command {
        names: &["retry"],
        arguments: "[MECHANISM]",
        about: "begin the launch again, as it was launched, under a mechanism that lets all lanes \
                go on, or another",
        does: Does::Leaves(After::Again),
    },
    Command {
        names: &["detach"],
        arguments: "",
        about: "let the launch run on without the debugger",
        does: Does::Leaves(After::Run),
    },
    Command {
        names: &["quit", "q", "kill"],
        arguments: "",
        about: "stop the launch where it stands",
        does: Does::Leaves(After::Stop),
    },
];

impl Session<'_> {
    /// Executes a command. An empty one does nothing.
    pub fn command(&mut self, line: &str) -> Reply {
        let line = line.trim();
        if line.is_empty() {
            return Reply::default();
        }
        if line.len() > LONGEST {
            let text = format!("error: a command has at most {LONGEST} bytes\n");
            return Reply { text, after: None };
        }
        self.rearm();
        let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(line.len());
        let (name, rest) = line.split_at(end);
        let found = COMMANDS.iter().find(|command| command.names.contains(&name));
        let Some(command) = found else {
            let names = COMMANDS.iter().flat_map(|command| command.names).copied();
            let near = isa::suggest::nearest(name, names);
            let near = near.map_or("; `help` lists them".to_owned(), |near| {
                format!("; did you mean `{near}`?")
            });
            return Reply {
                text: format!("error: there is no command `{name}`{near}\n"),
                after: None,
            };
        };
        match command.does {
            Does::Leaves(After::Again) => {
                let mechanism = Some(rest.trim()).filter(|name| !name.is_empty());
                match self.target.retry(mechanism) {
                    Ok(()) => {
                        self.debugger.again = true;
                        Reply { text: String::new(), after: Some(After::Again) }
                    }
                    Err(error) => Reply { text: format!("error: {error}\n"), after: None },
                }
            }
            Does::Leaves(after) => Reply { text: String::new(), after: Some(after) },
            Does::Answers(does) => {
                let change = self.change(name, line);
                let answer = does(self, rest.trim());
                self.changes.extend(change.filter(|_| answer.is_ok()));
                let text = answer.unwrap_or_else(|error| format!("error: {error}\n"));
                Reply { text, after: None }
            }
        }
    }
}

fn help(_: &mut Session<'_>, name: &str) -> Answer {
    let line = |command: &Command| {
        let names = command.names.join(", ");
        let usage = format!("{names} {}", command.arguments);
        format!("{:<32} {}\n", usage.trim_end(), command.about)
    };
    if name.is_empty() {
        return Ok(COMMANDS.iter().map(line).collect());
    }
    let found = COMMANDS.iter().find(|command| command.names.contains(&name));
    found.map(line).ok_or_else(|| format!("there is no command `{name}`"))
}

/// Refuses arguments.
fn nothing(arguments: &str) -> Result<(), String> {
    match arguments {
        "" => Ok(()),
        _ => Err(format!("`{arguments}` was not expected")),
    }
}
