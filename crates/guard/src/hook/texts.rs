//! Every text in a value.

use serde_json::Value;

/// Shows every text in `value` to `visit`, also the names of members. Its depth is limited by the reader.
pub(super) fn each(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter().for_each(|item| each(item, visit)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            visit(name);
            each(member, visit);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What the texts in `value` say when they are read one after another without a gap: its values, and its names. None where
/// there are not two texts.
pub(super) fn in_a_row(value: &Value) -> Vec<String> {
    let mut rows = Rows::default();
    rows.add(value);
    let Rows { values, names } = rows;
    [values, names].into_iter().filter(|row| row.count > 1).map(|row| row.text).collect()
}

#[derive(Default)]
struct Rows {
    values: Row,
    names: Row,
}

#[derive(Default)]
struct Row {
    text: String,
    count: usize,
}

impl Row {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.count += 1;
    }
}

impl Rows {
    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.values.push(text),
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(members) => members.iter().for_each(|(name, member)| {
                self.names.push(name);
                self.add(member);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
