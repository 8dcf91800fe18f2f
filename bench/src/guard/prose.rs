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

const SPANISH: &str = "El servidor lee su configuración y arranca cuando todo está bien. Los niños jugaban en el jardín \
    mientras la abuela preparaba café. ¿Cuántas líneas contiene el archivo que devuelve la función?";
const RUSSIAN: &str = "Сервер читает настройки из файла и запускается. Вчера вечером мы долго гуляли по набережной и \
    разговаривали. Функция возвращает количество строк, прочитанных из файла. Поезд отправляется в семь часов утра.";
const ARABIC: &str = "الخادم يقرأ الإعدادات ثم يبدأ العمل. كان الأطفال يلعبون في الحديقة بينما كانت الجدة تعد القهوة. \
    تعيد الدالة عدد الأسطر التي قرأت من الملف. يغادر القطار كل يوم في الساعة السابعة صباحا.";
const PERSIAN: &str = "سرور تنظیمات را از پرونده می\u{200c}خواند و آغاز می\u{200c}شود. بچه\u{200c}ها در باغ بازی می\u{200c}کردند. این \
    تابع شمار خط\u{200c}های خوانده\u{200c}شده را برمی\u{200c}گرداند. قطار هر روز ساعت هفت بامداد حرکت می\u{200c}کند.";
const HINDI: &str = "सर्वर फ़ाइल से सेटिंग पढ़ता है और शुरू होता है। बच्चे बगीचे में खेल रहे थे और दादी चाय बना रही थीं। यह फलन फ़ाइल से पढ़ी गई \
    पंक्तियों की संख्या लौटाता है। रेलगाड़ी हर दिन सुबह सात बजे चलती है।";
const CHINESE: &str = "服务器读取配置文件， 检查所有数值后启动。 孩子们在花园里玩耍， 奶奶在厨房里准备晚饭。 这个函数返回从文件中读取的行数。 \
    火车每天早上七点准时出发， 请提前到达车站。";
const EMOJI: &str = "🚀 Launch day! 🎉🎉 The new release is here 😀👍🏽 ✅ Build passed ✨ tests 🧪 green 🟢 ❤\u{fe0f} Thanks to everyone 🙏 \
    who helped 👩\u{200d}💻 this week ☕\u{fe0f} 📦 Packages 🔧 Tools 📝 Notes 🐛 Bugs 🔥 Hot 💡 Ideas 🌍 ☀\u{fe0f} ⚡ ⭐";

/// Lines of the file that introduces a project.
const MARKDOWN: &[&str] = &[
    "# gatekeeper\n\n",
    "[![build](https://example.org/badges/build.svg)](https://example.org/gatekeeper/builds) ",
    "[![docs](https://example.org/badges/docs-latest-blue.svg)](https://docs.example.org/gatekeeper/latest/)\n\n",
    "A small server that reads its rules from `/etc/gatekeeper/rules.d/*.toml` and applies them — fast.\n\n",
    "## Usage\n\n```sh\ncargo build --release --features=tls,metrics-exporter\n./target/release/gatekeeper -c config.toml\n```\n\n",
    "| Option | Default | Description |\n|--------|---------|---------------------------------|\n",
    "| `max_connections_per_worker` | `1024` | Upper bound of open connections of each worker |\n",
    "- Works on Linux, macOS and FreeBSD; see [the guide](docs/guides/getting-started/installation.md) for details\n",
    "- Checksum: `9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`\n\n",
    "Licensed under either of [Apache-2.0](LICENSE-APACHE) or [MIT](LICENSE-MIT), at your option.\n\n",
];

/// Each kind of text with its name.
pub(crate) fn texts(size: usize) -> Vec<(&'static str, String)> {
    let words = |text: &'static str| shuffled(&text.split_whitespace().collect::<Vec<_>>(), size);
    vec![
        ("English prose", shuffled(WORDS, size)),
        ("source code", cycled(CODE, size)),
        ("markdown", cycled(MARKDOWN, size)),
        ("Spanish", words(SPANISH)),
        ("Russian", words(RUSSIAN)),
        ("Arabic", words(ARABIC)),
        ("Persian", words(PERSIAN)),
        ("Hindi", words(HINDI)),
        ("Chinese", words(CHINESE)),
        ("full of emoji", words(EMOJI)),
        ("prose in six scripts", cycled(SCRIPTS, size)),
    ]
}

/// Words in an order that does not repeat soon: a linear congruential generator picks them.
fn shuffled(words: &[&str], size: usize) -> String {
    let mut text = String::with_capacity(size + 64);
    let mut state: u64 = 42;
    while text.len() < size {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pick = (state >> 33) as usize;
        text.push_str(words.get(pick % words.len()).copied().unwrap_or_default());
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
