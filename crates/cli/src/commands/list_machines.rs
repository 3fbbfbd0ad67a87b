//! The command `machines`.

use inputs::launch::{Located, MachineOption, OptionValue};
use isa::{Diagnostic, SourceMap, Span};
use machines::Isa;

use super::refuse;
use super::run::files;
use crate::args::Machines;
use crate::line::Line;
use crate::out::{Exit, Out};

/// Prints the machines, or one of them with what options make of it.
pub(crate) fn list_machines(args: &Machines, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let mut line = Line::new("machines");
    let named = args.isa.as_ref().map(|name| (name.as_str(), line.option("isa", name)));
    let option = |(shown, name, value): (&str, String, String)| {
        let text = if shown == "option" { format!("{name}={value}") } else { value.clone() };
        let span = line.option(shown, &text);
        let key = Located { value: name, span };
        MachineOption { key, value: Located { value: OptionValue::String(value), span } }
    };
    let mut options: Vec<MachineOption> = args.machine.given().into_iter().map(option).collect();
    line.enter(&mut sources);
    let Some((name, span)) = named else {
        if let Some(option) = options.first() {
            let finding = Diagnostic::error("cli::missing", "options are those of one machine");
            let finding = finding.at(option.key.span, "of which?").help("name it with --isa");
            return refuse(&finding, &sources, out);
        }
        machines::all().iter().for_each(|machine| out.text(&description(machine)));
        return Exit::Ok;
    };
    let described = machines::find(name)
        .map_err(|finding| finding.at(span, "unknown machine"))
        .and_then(|machine| {
            files(&mut options)?;
            Ok(description(machine) + &configuration(machine, &options, span)?)
        });
    match described {
        Ok(text) => {
            out.text(&text);
            Exit::Ok
        }
        Err(finding) => refuse(&finding, &sources, out),
    }
}

/// A machine with its commands, mechanisms and options.
fn description(machine: &Isa) -> String {
    let commands: Vec<&str> = machine.commands().map(machines::Command::name).collect();
    let (name, about) = (machine.name, machine.about);
    let mut text = format!("{name}: {about}\n  commands: {}\n", commands.join(", "));
    let mechanisms = machine.mechanisms;
    let width = mechanisms.iter().map(|m| m.name.len()).max().unwrap_or(0);
    for (index, mechanism) in mechanisms.iter().enumerate() {
        let default = if index == 0 { " (default)" } else { "" };
        text += &format!("  {:<width$}  {}{default}\n", mechanism.name, mechanism.about);
    }
    for profile in machine.profiles {
        text += &format!("  profile {}: {}\n", profile.name, profile.about);
    }
    let options = machine.options.concat();
    let width = options.iter().map(|o| o.name.len()).max().unwrap_or(0);
    if !options.is_empty() {
        text += "  options (--option NAME=VALUE):\n";
    }
    for option in &options {
        text += &format!("    {:<width$}  {}\n", option.name, option.about);
    }
    text
}

/// What options make of a machine.
fn configuration(
    machine: &Isa,
    options: &[MachineOption],
    named: Span,
) -> Result<String, Diagnostic> {
    let Some(configuration) = machine.configuration else {
        if options.is_empty() {
            return Ok(String::new());
        }
        let message = format!("options of {} make no other machine", machine.name);
        return Err(Diagnostic::error("cli::option", message).at(named, ""));
    };
    let text = configuration(options).map_err(|(index, why)| {
        let span = options.get(index).map_or(named, |option| option.key.span);
        Diagnostic::error("cli::option", why).at(span, "")
    })?;
    let lines = text.lines().map(|line| match line {
        "" => "\n".to_owned(),
        line => format!("    {line}\n"),
    });
    Ok("  with these options:\n".to_owned() + &lines.collect::<String>())
}
