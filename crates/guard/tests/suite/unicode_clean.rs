//! What people write, in which nothing may be found.

use fullsend_guard::{Scan, Scanner, UnicodeScanner};

const CLEAN: &[(&str, &str)] = &[
    ("U01", "This is normal text."),
    ("U17", "Normal commit message fixing a null pointer bug."),
    ("U30", "Hello, world!"),
    (
        "U54: accents stay as they were written, or files could no longer be found by name",
        "cafe\u{301} and café",
    ),
    ("U56: spaces of typography are not ours to change", "\u{a0}x"),
    ("empty", ""),
    ("white space", " \t\r\n"),
    ("log", "2026-01-05T10:00:00Z INFO  [worker-1] built 12 targets in 3.4s (100%)\r\n\tat main.rs:12\r\n"),
    ("code", "fn main() { println!(\"{:?}\", &[0u8; 4]); } // ~!@#$%^&*()_+|`-=\\"),
    ("box drawing", "├── src\n│   └── lib.rs ✓ ✗ → ⇒ █░▒"),
    ("French", "« Qu’est-ce que c’est ? » — 1\u{202f}234,56\u{a0}€ ; œuvre, Ÿ…"),
    ("German", "Größenwahn, „Zitat“, Straße, ẞ"),
    ("Polish, Czech, Turkish", "zażółć gęślą jaźń; příliš žluťoučký; ığüşöç İ"),
    ("Vietnamese composed", "Tiếng Việt có nhiều dấu: ầ ẫ ậ ệ ộ"),
    ("Vietnamese decomposed", "Tie\u{302}\u{301}ng Vie\u{323}\u{302}t"),
    ("Greek", "Ξεσκεπάζω τὴν ψυχοφθόρα βδελυγμία, ᾧ ᾳ"),
    ("Russian", "Съешь же ещё этих мягких французских булок, да выпей чаю"),
    ("Church Slavonic", "сло\u{301}во ѡ҃ ҂а҃"),
    ("Armenian and Georgian", "Բարեւ աշխարհ, გამარჯობა მსოფლიო"),
    ("phonetics", "[ˈɪŋɡlɪʃ] n\u{329} t\u{361}s ɑ\u{303}\u{2d0}"),
    ("mathematics", "x² + ½ ≤ ∑ₙ aₙ, ∀ε∈ℝ ∃δ: f(𝑥) = 𝛼·ℎ, ℂℙ, 5 × 10⁻³ ± ∞"),
    ("slanted variant of an operator", "A ∩\u{fe00} B"),
    ("symbols", "™ © ® № ℃ Ω … • † ‰ ① ② ③ Ⓐ ㈱ ㍻"),
    ("musical", "♩ ♪ ♫ ♬ 𝄞 ♯ ♭"),
    ("line and paragraph separators", "one\u{2028}two\u{2029}three"),
    ("Hebrew with points", "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים"),
    ("Hebrew with marks", "הגרסה C++\u{200e} שוחררה \u{200f}(2.0)\u{200f}!"),
    ("Arabic with a letter mark", "السعر \u{61c}-5 ريال"),
    ("Arabic with vowels", "بِسْمِ ٱللَّهِ ٱلرَّحْمَٰنِ ٱلرَّحِيمِ"),
    ("Arabic signs", "\u{600}١٢٣ ۝\u{6dd}٤ \u{605} \u{8e2}"),
    ("Arabic abbreviation that ends in a joiner", "سنة ١٤٤٥ ه\u{200d}"),
    ("Arabic with balanced isolates", "افتح \u{2066}README.md\u{2069} ثم \u{2068}main\u{2069}"),
    ("Arabic with balanced embeddings", "\u{202b}مرحبا \u{202a}fullsend run\u{202c} عالم\u{202c}"),
    ("nested isolates", "שלום \u{2067}א \u{2066}b\u{2069} ג\u{2069}."),
    ("Persian", "نمی\u{200c}خواهم کتاب\u{200c}هایم را بفروشم، خانه\u{200c}ای"),
    ("Urdu", "میں نے کہا: آپ کیسے ہیں؟"),
    ("Syriac", "\u{70f}ܐܒܓ ܫܠܡܐ"),
    ("N'Ko", "ߒߞߏ ߊ߬ ߣߌ߫ \u{7d3}\u{200d}"),
    ("Mongolian", "ᠮᠣᠩᠭᠣᠯ ᠬᠡᠯᠡ ᠨᠠᠢᠮᠠ\u{180b} ᠬᠠᠷ\u{180e}ᠠ"),
    ("Hindi", "नमस्ते दुनिया। क्\u{200d}ष और क्\u{200c}ष, हिन्दी"),
    ("Marathi eyelash", "दुसऱ्\u{200d}या"),
    ("Bengali", "আমি বাংলায় গান গাই, র\u{200d}্যাব, কি\u{200c}"),
    ("Sinhala", "ශ්\u{200d}රී ලංකාව, ක්\u{200d}ය"),
    ("Malayalam chillu", "അവന്\u{200d} പറഞ്ഞു, അവൻ"),
    ("Tamil, Telugu, Kannada", "வணக்கம், నమస్కారం, ರ್\u{200d}ಕ ನಮಸ್ಕಾರ"),
    ("Gujarati, Gurmukhi, Odia", "નમસ્તે, ਸਤ ਸ੍ਰੀ ਅਕਾਲ, ନମସ୍କାର"),
    ("Thai", "สวัสดีชาวโลก น้ำ ที่ ก็"),
    ("Thai with line breaks", "ภาษา\u{200b}ไทย\u{200b}ง่าย"),
    ("Lao", "ສະບາຍດີ\u{200b}ຊາວໂລກ"),
    ("Tibetan", "བོད་སྐད། ཨོཾ་མ་ཎི་པདྨེ་ཧཱུྃ༔"),
    ("Khmer", "សួស្តី\u{200b}ពិភពលោក ភាសាខ្មែរ"),
    ("Burmese", "မင်္ဂလာပါ\u{200b}ကမ္ဘာ"),
    ("Amharic, Cherokee, Yoruba", "ሰላም ዓለም ᎣᏏᏲ Ẹ kú àárọ̀"),
    ("Chinese", "你好，世界！（测试）《书》——“引号”……：；？"),
    ("Chinese with Latin words", "仓库地址：https://example.com，作者：Alice（维护者）"),
    ("Chinese punctuation between Latin words", "GitHub：https://example.com；Docker（API），OK！"),
    ("Chinese with full-width letters", "第１２章　ＡＢＣ公司"),
    ("Japanese", "こんにちは、世界。「テスト」ﾊﾝｶｸ ガギグ ーー〜"),
    ("Japanese with full-width forms", "Ｗｅｂサイト　２０２６年１月　ＡＢＣ　東京"),
    ("full-width letters behind punctuation", "会社、（ＡＢＣ）！　ＤＥＦ，東京"),
    ("Japanese decomposed", "か\u{3099}は\u{309a}"),
    ("Japanese with registered variants", "葛\u{e0100}城市と葛\u{e0101}飾区、辻\u{e0101}"),
    ("full-width behind a registered variant", "葛\u{e0100}Ａ"),
    ("standardised variant", "\u{795e}\u{fe00}"),
    ("Korean", "안녕하세요 세계! 한국어"),
    ("Korean in jamo", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}"),
    ("family", "👨\u{200d}👩\u{200d}👧\u{200d}👦 at home"),
    ("skin tones", "👍🏽 👩🏾\u{200d}💻 🤝🏻 🧑🏿\u{200d}🤝\u{200d}🧑🏻"),
    ("gender and hair", "🏃\u{200d}♀\u{fe0f} 👨\u{200d}🦰 🕵\u{fe0f}\u{200d}♂\u{fe0f}"),
    ("rainbow and pirates", "🏳\u{fe0f}\u{200d}🌈 🏴\u{200d}☠\u{fe0f} 🏳\u{fe0f}\u{200d}⚧\u{fe0f}"),
    (
        "newer joined ones",
        "❤\u{fe0f}\u{200d}🔥 🐻\u{200d}❄\u{fe0f} 🐦\u{200d}⬛ 🙂\u{200d}↔\u{fe0f} ⛓\u{fe0f}\u{200d}💥",
    ),
    ("countries", "🇩🇪🇯🇵🇧🇷"),
    ("Scotland", "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}"),
    (
        "England and Wales",
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}🏴\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
    ),
    ("keycaps", "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3} *\u{fe0f}\u{20e3} 2\u{20e3}"),
    ("as text", "☎\u{fe0e} ↩\u{fe0e} ▶\u{fe0e}"),
    (
        "as pictures",
        "©\u{fe0f} ™\u{fe0f} ℹ\u{fe0f} ❤\u{fe0f} ☀\u{fe0f} 〰\u{fe0f} ㊗\u{fe0f} ‼\u{fe0f} ⚠\u{fe0f} ✔\u{fe0f}",
    ),
    ("blood types", "🅰\u{fe0f}🅱\u{fe0f} Ⓜ\u{fe0f} 🆎 🆗"),
    ("braille", "⠓⠑⠇⠇⠕⠀⠺⠕⠗⠇⠙"),
    ("picture in braille", "⠀⠀⣠⣶⣿⠀⠀"),
    ("private use", "\u{e0a0} main \u{f418}"),
];

#[test]
fn what_people_write_stays_byte_for_byte() {
    for (label, text) in CLEAN {
        assert_eq!(UnicodeScanner::new().scan(text), Scan::default(), "{label}");
    }
}

#[test]
fn what_people_write_stays_in_company_too() {
    let all: Vec<&str> = CLEAN.iter().map(|(_, text)| *text).collect();
    assert_eq!(UnicodeScanner::for_files().scan(&all.join("\n")), Scan::default());
}
