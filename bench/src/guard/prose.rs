//! Clean text of the kinds that agents read, made the same way in every run.

/// Words of English documentation; none is part of a finding.
const WORDS: &[&str] = &[
    "the",
    "server",
    "reads",
    "its",
    "configuration",
    "from",
    "a",
    "file",
    "and",
    "starts",
    "when",
    "every",
    "value",
    "is",
    "valid",
    "requests",
    "that",
    "arrive",
    "before",
    "are",
    "queued",
    "until",
    "workers",
    "have",
    "loaded",
    "their",
    "state",
    "see",
    "chapter",
    "four",
    "for",
    "details",
    "on",
    "memory",
    "limits",
    "which",
    "depend",
    "upon",
    "number",
    "of",
    "connections",
    "errors",
    "written",
    "to",
    "log",
    "with",
    "time",
    "place",
    "reason",
];

/// Lines of source code.
const CODE: &[&str] = &[
    "fn load(path: &Path) -> Result<Settings, Error> {\n",
    "    let text = std::fs::read_to_string(path)?;\n",
    "    let settings: Settings = parse(&text).map_err(|error| Error::at(path, error))?;\n",
    "    settings.check()?;\n",
    "    for (name, limit) in &settings.limits { register(name, *limit); }\n",
    "    Ok(settings)\n",
    "}\n\n",
    "if (count > limit) { return retry(item, count + 1); }  // bounded by the caller\n",
];

/// Sentences in other scripts.
const SCRIPTS: &[&str] = &[
    "Сервер читает настройки из файла и запускается. ",
    "サーバーは設定を読み込み、値が正しければ起動します。",
    "El servidor lee su configuración y arranca cuando todo está bien. ",
    "الخادم يقرأ الإعدادات ثم يبدأ العمل. ",
    "सर्वर फ़ाइल से सेटिंग पढ़ता है और शुरू होता है। ",
    "The server reads its file and starts. ",
];

/// Each kind of text with its name.
pub(crate) fn texts(size: usize) -> Vec<(&'static str, String)> {
    vec![
        ("English prose", english(size)),
        ("source code", cycled(CODE, size)),
        ("prose in six scripts", cycled(SCRIPTS, size)),
    ]
}

/// Words in an order that does not repeat soon: a linear congruential generator picks them.
fn english(size: usize) -> String {
    let mut text = String::with_capacity(size + 64);
    let mut state: u64 = 42;
    while text.len() < size {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pick = (state >> 33) as usize;
        text.push_str(WORDS.get(pick % WORDS.len()).copied().unwrap_or_default());
        text.push_str(if pick.is_multiple_of(13) { ".\n" } else { " " });
    }
    text
}

fn cycled(parts: &[&str], size: usize) -> String {
    let mut text = String::with_capacity(size + 128);
    for part in parts.iter().cycle() {
        if text.len() >= size {
            break;
        }
        text.push_str(part);
    }
    text
}
