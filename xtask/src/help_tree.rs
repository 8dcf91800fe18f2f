//! Walks a command-line program by its help texts and renders one page from them.

use std::collections::VecDeque;

use anyhow::Result;

/// One section per command, parents before children. `ask` runs the program with the given arguments.
pub(crate) fn markdown(program: &str, ask: impl Fn(&[&str]) -> Result<String>) -> Result<String> {
    let mut page = String::from("# Command reference\n");
    let mut waiting = VecDeque::from([Vec::<String>::new()]);
    while let Some(command) = waiting.pop_front() {
        let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = ask(&arguments)?;
        let title = [&[program.to_owned()], command.as_slice()].concat().join(" ");
        page.push_str(&section(&title, &help));
        let children =
            subcommands(&help).into_iter().map(|name| [command.as_slice(), &[name.to_owned()]].concat());
        for (position, child) in children.enumerate() {
            // Depth first and in the order of the help text: a family of commands stays together.
            waiting.insert(position, child);
        }
    }
    Ok(page)
}

fn section(title: &str, help: &str) -> String {
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    format!("\n## `{title}`\n\n```text\n{}\n```\n", lines.join("\n"))
}

/// The names below `Commands:`, without the built-in `help`.
fn subcommands(help: &str) -> Vec<&str> {
    let section = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let section = section.take_while(|line| line.is_empty() || line.starts_with(' '));
    let entries = section.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    entries
        .filter_map(|entry| entry.split([' ', ',']).next())
        .filter(|name| !matches!(*name, "" | "help"))
        .collect()
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::{markdown, subcommands};

    const TOP: &str = "Does things.

Usage: tool <COMMAND>

Commands:
  one   First, with a description that goes on
        to the next line
  two   Second [aliases: zwei]
  help  Print this message

Options:
  -h, --help  Print help
";

    #[test]
    fn names_come_from_the_commands_section_only() {
        assert_eq!(subcommands(TOP), ["one", "two"]);
        assert_eq!(subcommands("Usage: tool\n\nOptions:\n  -h, --help\n"), Vec::<&str>::new());
    }

    #[test]
    fn names_with_long_descriptions_on_their_own_lines_are_found() {
        let help = "Commands:\n  one\n          Long text\n\n  two\n          Other\n\nOptions:\n  -x\n";
        assert_eq!(subcommands(help), ["one", "two"]);
    }

    #[test]
    fn families_of_commands_stay_together() {
        let page = markdown("tool", |arguments| match arguments {
            ["--help"] => Ok(TOP.to_owned()),
            ["one", "--help"] => Ok("Commands:\n  inner  x\n".to_owned()),
            ["one", "inner", "--help"] | ["two", "--help"] => Ok("leaf\n".to_owned()),
            _ => bail!("unexpected {arguments:?}"),
        });
        let page = page.unwrap();
        let titles: Vec<&str> = page.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(titles, ["## `tool`", "## `tool one`", "## `tool one inner`", "## `tool two`"]);
    }
}
