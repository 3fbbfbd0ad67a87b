//! Generated parts of the book: the columns of tables, and the profiles of machines.

use std::fmt::Write as _;

use sweep::COLUMNS;

fn check(page: &str, marker: &str, wanted: &str) {
    let path = format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("is there");
    let (before, rest) = text.split_once(&format!("<!-- {marker} -->\n")).expect("a marker");
    let (shown, after) = rest.split_once("<!-- end -->").expect("an end");
    if std::env::var_os("SIMTLAB_BLESS").is_some_and(|v| !v.is_empty() && v != "0") {
        let renewed = format!("{before}<!-- {marker} -->\n{wanted}<!-- end -->{after}");
        std::fs::write(&path, renewed).expect("can write");
        return;
    }
    assert!(shown == wanted, "SIMTLAB_BLESS=1 renews docs/{page}");
}

#[test]
fn the_columns_are_on_the_page() {
    let mut table = "| column | type | unit | |\n|---|---|---|---|\n".to_owned();
    for column in COLUMNS {
        let (name, ty, about) = (column.name, column.ty.name(), column.about);
        let _ = writeln!(table, "| `{name}` | {ty} | {} | {about} |", column.unit);
    }
    check("sweeps.md", "columns", &table);
}

#[test]
fn the_profiles_are_on_the_page() {
    let mut text = String::new();
    let mut seen: Vec<&str> = Vec::new();
    for machine in machines::all() {
        for profile in machine.profiles.iter().filter(|p| !seen.contains(&p.name)) {
            let settings: Vec<String> =
                profile.settings.iter().map(|(name, value)| format!("`{name}={value}`")).collect();
            let _ = write!(
                text,
                "### `{}`\n\n{}: `{}`, {} lanes, {}.\n\n- known: {}\n- may differ: {}\n\n",
                profile.name,
                profile.about,
                profile.mechanism,
                profile.warp_size,
                settings.join(", "),
                profile.source,
                profile.limits
            );
        }
        seen.extend(machine.profiles.iter().map(|p| p.name));
    }
    assert!(!seen.is_empty());
    check("machine-profiles.md", "profiles", &text);
}

#[test]
fn profiles_name_what_there_is() {
    for machine in machines::all() {
        for profile in machine.profiles {
            assert!(
                machine.mechanisms.iter().any(|m| m.name == profile.mechanism),
                "{}",
                profile.name
            );
            for (name, value) in profile.settings {
                let axis = machine.axes.iter().find(|axis| axis.name == *name).expect(name);
                assert!(axis.values.contains(value), "{}: {name}={value}", profile.name);
            }
        }
    }
}
