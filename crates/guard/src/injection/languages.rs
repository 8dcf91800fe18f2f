//! Calls to set earlier instructions aside, in languages other than English.

use std::sync::LazyLock;

use super::foreign::spellings;
use super::found::Match;
use super::rules::IGNORE_INSTRUCTIONS;
use super::words::{Words, starts_word, word_at};
use crate::finding::Span;

/// Verbs, as stems: German, French, Spanish, Portuguese, Italian, Russian, Chinese, Japanese, Korean.
pub(super) const VERBS: &[&str] = &[
    "ignorier",
    "vergiss",
    "vergesst",
    "vergessen sie",
    "missachte",
    "oublie",
    "ne tenez pas compte",
    "ne tiens pas compte",
    "olvida",
    "olvide",
    "esqueca",
    "esquece",
    "desconsidere",
    "dimentica",
    "tralascia",
    "omite las",
    "haz caso omiso",
    "игнорируй",
    "проигнорируй",
    "забудь",
    "не обращай внимания",
    "忽略",
    "无视",
    "無視",
    "忘记",
    "忘掉",
    "不要理会",
    "忘れ",
    "무시",
    "잊어",
    "잊으",
];

/// What is set aside, as stems.
const NOUNS: &[&str] = &[
    "anweisung",
    "instruktion",
    "regel",
    "vorgabe",
    "richtlinie",
    "instruction",
    "consigne",
    "directive",
    "regle",
    "instruccion",
    "indicacion",
    "regla",
    "orden",
    "instruco",
    "instruc",
    "diretriz",
    "regra",
    "orientaco",
    "istruzion",
    "direttiv",
    "regol",
    "инструкци",
    "указани",
    "правил",
    "指令",
    "指示",
    "说明",
    "規則",
    "规则",
    "提示词",
    "命令",
    "プロンプト",
    "ルール",
    "지시",
    "명령",
    "지침",
    "규칙",
    "프롬프트",
];

/// Which of them: those given before, or all.
const GIVEN: &[&str] = &[
    "vorherig",
    "bisherig",
    "obig",
    "vorangegangen",
    "fruher",
    "vorig",
    "alle",
    "deine",
    "ihre",
    "precedent",
    "anterieur",
    "toutes",
    "tous",
    "ci-dessus",
    "vos",
    "tes",
    "anterior",
    "previ",
    "todas",
    "todos",
    "tus",
    "acima",
    "suas",
    "precedent",
    "tutte",
    "tutti",
    "tue",
    "предыдущ",
    "прежни",
    "все",
    "выше",
    "свои",
    "之前",
    "以前",
    "先前",
    "上述",
    "前面",
    "所有",
    "上面",
    "你的",
    "これまで",
    "前の",
    "上記",
    "すべて",
    "全て",
    "以前の",
    "이전",
    "위의",
    "모든",
    "앞의",
    "지금까지",
];

static FOLDED_NOUNS: LazyLock<Vec<String>> = LazyLock::new(|| spellings(NOUNS));
static FOLDED_GIVEN: LazyLock<Vec<String>> = LazyLock::new(|| spellings(GIVEN));

/// How many bytes around a verb of a script without spaces belong to the phrase.
const NEAR: usize = 60;

/// The call around the verb at `at`.
pub(super) fn find(text: &str, at: Span) -> Option<Match> {
    let spaceless = text.as_bytes().get(at.start).is_some_and(|byte| *byte >= 0xe0);
    let span = if spaceless { without_spaces(text, at) } else { with_spaces(text, at) }?;
    Some(Match::new(&IGNORE_INSTRUCTIONS, span))
}

fn with_spaces(text: &str, at: Span) -> Option<Span> {
    if !starts_word(text, at.start) {
        return None;
    }
    let after = Words::after(text, word_at(text, at.end.saturating_sub(1)).end);
    let place = |stems: &[String]| {
        after.iter().take(8).find(|word| {
            stems.iter().any(|stem| {
                let start = word.text.as_bytes().get(..stem.len());
                start.is_some_and(|start| start.eq_ignore_ascii_case(stem.as_bytes()))
            })
        })
    };
    let (noun, given) = place(&FOLDED_NOUNS).zip(place(&FOLDED_GIVEN))?;
    (noun.start != given.start).then(|| Span::new(at.start, noun.end.max(given.end)))
}

fn without_spaces(text: &str, at: Span) -> Option<Span> {
    let from = text.ceil_char_boundary(at.start.saturating_sub(NEAR));
    let to = text.floor_char_boundary(text.len().min(at.end + NEAR));
    let (before, after) = (text.get(from..at.start)?, text.get(at.end..to)?);
    // The phrase ends with its sentence.
    let before_from = before.rfind(['。', '\n', '.']).map_or(0, |cut| before.ceil_char_boundary(cut + 1));
    let before = before.get(before_from..)?;
    let after = after.get(..after.find(['。', '\n', '.']).unwrap_or(after.len()))?;
    let within = |part: &str, stems: &[String]| {
        stems.iter().filter(|stem| !stem.is_ascii()).any(|stem| part.contains(stem))
    };
    let both = |part: &str| within(part, &FOLDED_NOUNS) && within(part, &FOLDED_GIVEN);
    if both(after) {
        return Some(Span::new(at.start, at.end + after.len()));
    }
    both(before).then(|| Span::new(from + before_from, at.end))
}

/// What follows a verb that English shares when the language is another one.
const NEXT: &[&str] = &[
    "alle",
    "die",
    "bitte",
    "toutes",
    "tous",
    "les",
    "vos",
    "tes",
    "todas",
    "todos",
    "las",
    "los",
    "tus",
    "sus",
    "as",
    "os",
    "suas",
    "por",
    "completamente",
    "tutte",
    "tutti",
    "le",
    "tue",
    "quaisquer",
    "qualquer",
    "cualquier",
    "sie",
    "jegliche",
    "completement",
    "quanto",
];

/// A verb that English shares, such as "ignore", with words of another language around it.
pub(super) fn shared(text: &str, at: usize) -> Option<Match> {
    let verb = word_at(text, at);
    let known = verb.starts_with(&["ignore", "ignora", "ignoriere"]) && verb.text.len() <= 10;
    let foreign = known && Words::after(text, verb.end).is(0, NEXT);
    if !foreign {
        return None;
    }
    let span = with_spaces(text, Span::new(at, at + 5))?;
    Some(Match::new(&IGNORE_INSTRUCTIONS, span))
}
