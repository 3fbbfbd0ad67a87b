//! Breakpoints of the client.

use debug::{Catch, Session, What};
use serde_json::{Value, json};

use crate::Adapter;

impl Adapter {
    /// Forgets the breakpoints of a kind.
    fn replace(&mut self, session: &mut Session<'_>, kind: &str) {
        for number in self.points.remove(kind).unwrap_or_default() {
            // A temporary one may have gone by itself.
            let _ = session.delete_point(number);
        }
    }

    fn add(
        &mut self,
        session: &mut Session<'_>,
        (kind, location): (&str, &str),
        wanted: &Value,
    ) -> Value {
        let text = |name: &str| wanted.get(name).and_then(Value::as_str).filter(|t| !t.is_empty());
        let location = match text("condition") {
            Some(condition) => format!("{location} if {condition}"),
            None => location.to_owned(),
        };
        let (number, answer) = match session.break_at(&location) {
            Ok(added) => added,
            Err(message) => return json!({"verified": false, "message": message}),
        };
        self.points.entry(kind.to_owned()).or_default().push(number);
        if let Some(hits) = text("hitCondition").and_then(|text| text.trim().parse::<u64>().ok()) {
            let ignored = hits.saturating_sub(1);
            session.command(&format!("ignore {number} {ignored}"));
        }
        let mut shown = json!({"id": number, "verified": true});
        if let Some((line, source)) = line_of(session, number) {
            let moved = wanted.get("line").is_some_and(Value::is_u64);
            if moved && (source == location.contains(':')) {
                shown["line"] = line.into();
            }
        }
        if let Some(note) = answer.lines().find_map(|line| line.strip_prefix("note: ")) {
            shown["message"] = note.into();
        }
        shown
    }

    /// Breakpoints on lines of a source.
    pub(crate) fn set_lines(&mut self, session: &mut Session<'_>, arguments: &Value) -> Value {
        let source = &arguments["source"];
        let path = source["path"].as_str().or(source["name"].as_str()).unwrap_or("").to_owned();
        self.replace(session, &path);
        let own = std::path::Path::new(&path);
        let program = own == self.program
            || self.program.file_name().is_some() && own.file_name() == self.program.file_name();
        let wanted = arguments["breakpoints"].as_array().cloned().unwrap_or_default();
        let name = own.file_name().map_or(path.clone(), |name| name.to_string_lossy().into_owned());
        let mut out = Vec::new();
        for point in &wanted {
            let line = point["line"].as_u64().unwrap_or(0);
            let location = if program { format!("{line}") } else { format!("{name}:{line}") };
            out.push(self.add(session, (&path, &location), point));
        }
        json!({"breakpoints": out})
    }

    /// Breakpoints on functions.
    pub(crate) fn set_functions(&mut self, session: &mut Session<'_>, arguments: &Value) -> Value {
        const KIND: &str = "\0functions";
        self.replace(session, KIND);
        let wanted = arguments["breakpoints"].as_array().cloned().unwrap_or_default();
        let mut out = Vec::new();
        for point in &wanted {
            let name = point["name"].as_str().unwrap_or("").to_owned();
            out.push(self.add(session, (KIND, &name), point));
        }
        json!({"breakpoints": out})
    }

    /// Breakpoints on instructions.
    pub(crate) fn set_instructions(
        &mut self,
        session: &mut Session<'_>,
        arguments: &Value,
    ) -> Value {
        const KIND: &str = "\0instructions";
        self.replace(session, KIND);
        let wanted = arguments["breakpoints"].as_array().cloned().unwrap_or_default();
        let mut out = Vec::new();
        for point in &wanted {
            let at = json!({
                "memoryReference": point["instructionReference"],
                "offset": point["offset"],
            });
            out.push(match crate::answers::address(&at) {
                Ok((address, _)) => self.add(session, (KIND, &format!("*{address:#x}")), point),
                Err(message) => json!({"verified": false, "message": message}),
            });
        }
        json!({"breakpoints": out})
    }

    /// Events that stop.
    pub(crate) fn set_events(&mut self, session: &mut Session<'_>, arguments: &Value) -> Value {
        const KIND: &str = "\0events";
        self.replace(session, KIND);
        let wanted = arguments["filters"].as_array().cloned().unwrap_or_default();
        let mut out = Vec::new();
        for filter in wanted.iter().filter_map(Value::as_str) {
            let Some((_, catch)) = Catch::NAMES.iter().find(|(name, _)| *name == filter) else {
                out.push(json!({"verified": false, "message": format!("no event `{filter}`")}));
                continue;
            };
            let number = session.add_point(What::Catch(catch.clone()), filter, None, false);
            self.points.entry(KIND.to_owned()).or_default().push(number);
            out.push(json!({"id": number, "verified": true}));
        }
        json!({"breakpoints": out})
    }

    /// What a data breakpoint on a variable would watch: its name in the frame in focus.
    pub(crate) fn data_info(&mut self, session: &mut Session<'_>, arguments: &Value) -> Value {
        let name = arguments["name"].as_str().unwrap_or("");
        let number = arguments["variablesReference"].as_u64();
        if let Some(at) = number.and_then(|number| self.frame_of_reference(number)) {
            // The watch is of that lane.
            let _ = session.set_focus(at);
        }
        let at = session.focus();
        let known = session.evaluate(name).is_ok();
        let description = format!("{name} of lane {}", at.lane);
        match known {
            true => json!({
                "dataId": name,
                "description": description,
                "accessTypes": ["write"],
                "canPersist": false,
            }),
            false => json!({"dataId": null, "description": "this cannot be watched"}),
        }
    }

    /// Watches.
    pub(crate) fn set_data(&mut self, session: &mut Session<'_>, arguments: &Value) -> Value {
        const KIND: &str = "\0data";
        self.replace(session, KIND);
        let wanted = arguments["breakpoints"].as_array().cloned().unwrap_or_default();
        let mut out = Vec::new();
        for point in &wanted {
            let text = point["dataId"].as_str().unwrap_or("");
            let access = point["accessType"].as_str().unwrap_or("write");
            let (reads, writes) = (access != "write", access != "read");
            match session.watch(text, reads, writes) {
                Ok(number) => {
                    self.points.entry(KIND.to_owned()).or_default().push(number);
                    out.push(json!({"id": number, "verified": true}));
                }
                Err(message) => out.push(json!({"verified": false, "message": message})),
            }
        }
        json!({"breakpoints": out})
    }
}

/// The line of a breakpoint, and whether it is one of the source.
fn line_of(session: &Session<'_>, number: u32) -> Option<(u32, bool)> {
    let points = session.debugger().points();
    let point = points.iter().find(|point| point.number == number)?;
    let What::Place { places } = &point.what else { return None };
    let instruction = session.look().code().at(*places.first()?)?;
    let in_source = point.text.contains(':');
    match &instruction.source {
        Some(source) if in_source => Some((source.line, true)),
        _ => Some((instruction.line?, false)),
    }
}
