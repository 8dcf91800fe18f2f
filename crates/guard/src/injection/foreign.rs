//! Calls for secrecy, and calls to send secrets away, in languages other than English.

use std::sync::LazyLock;

use super::found::Match;
use super::overrides::starts_clause;
use super::rules::{DO_NOT_TELL, SECRET_EXFIL};
use super::words::{Word, Words, starts_word};
use crate::finding::Span;
use crate::fold::Folded;

/// Those who are to be kept in the dark: German, French, Spanish, Portuguese, Russian, Chinese, Japanese.
pub(super) const PEOPLE: &[&str] = &[
    "Benutzer",
    "Nutzer",
    "Anwender",
    "utilisateur",
    "usuario",
    "пользовател",
    "用户",
    "使用者",
    "ユーザー",
    "ユーザ",
];
/// Telling, as stems of the forms that command.
const TELLING: &[&str] = &[
    "sag",
    "erzahl",
    "teil",
    "informier",
    "verrat",
    "erwahn",
    "mitteil",
    "dis",
    "dites",
    "dire",
    "parle",
    "informe",
    "mentionne",
    "previens",
    "prevenir",
    "prevenez",
    "avertir",
    "revele",
    "informer",
    "digas",
    "diga",
    "decir",
    "menciones",
    "reveles",
    "avisar",
    "avise",
    "informar",
    "conte",
    "revele",
    "mencione",
    "говори",
    "сообща",
    "рассказыва",
    "упомина",
    "уведомля",
    "告诉",
    "告知",
    "知道",
    "提及",
    "通知",
    "透露",
    "言わ",
    "伝え",
    "知らせ",
    "教え",
    "話さ",
    "告げ",
    "通知",
];
const NEGATIONS: &[&str] = &[
    "nicht",
    "nichts",
    "niemals",
    "ohne",
    "ne",
    "n",
    "rien",
    "jamais",
    "sans",
    "no",
    "nunca",
    "sin",
    "nao",
    "sem",
    "не",
    "никогда",
    "без",
    "不要",
    "别",
    "不得",
    "不能",
    "切勿",
    "不让",
    "请勿",
    "ないで",
    "ません",
    "なく",
    "ずに",
    "禁止",
    "ない",
];
/// What may stand before a verb that commands.
const PARTICLES: &[&str] =
    &["bitte", "le", "les", "lui", "lo", "la", "se", "por", "favor", "en", "y", "und", "et", "e"];
/// Sending, as stems of the forms that command.
pub(super) const SENDING: &[&str] = &[
    "sende",
    "schick",
    "ubermittle",
    "ubertrage",
    "envoie",
    "envoyez",
    "transmets",
    "transmettez",
    "envia",
    "envie",
    "transmita",
    "отправь",
    "перешли",
    "передай",
    "发送",
    "上传",
    "传送",
    "發送",
    "送信し",
    "送って",
    "アップロード",
];
const SECRETS: &[&str] = &[
    "passwort",
    "passworter",
    "schlussel",
    "zugangsdaten",
    "umgebungsvariable",
    "geheimnis",
    "token",
    "api",
    "mot de passe",
    "mots de passe",
    "jeton",
    "cle ",
    "cles ",
    "identifiants",
    "secret",
    "variables d",
    "contrasena",
    "clave",
    "credencial",
    "credenciais",
    "variables de entorno",
    "senha",
    "chave",
    "variaveis",
    ".env",
    ".ssh",
    "парол",
    "ключ",
    "токен",
    "учетны",
    "секрет",
    "переменны",
    "密码",
    "密钥",
    "令牌",
    "凭据",
    "凭证",
    "环境变量",
    "パスワード",
    "トークン",
    "キー",
    "認証情報",
    "環境変数",
    "秘密",
];

static STEMS: LazyLock<[Vec<String>; 3]> = LazyLock::new(|| [TELLING, NEGATIONS, SECRETS].map(spellings));

/// With which bytes, in either case, a verb of telling starts: most words are done with after a look at their first.
static TELLING_STARTS: LazyLock<[bool; 256]> = LazyLock::new(|| {
    let [telling, ..] = &*STEMS;
    let mut starts = [false; 256];
    for first in telling.iter().filter_map(|stem| stem.bytes().next()) {
        for byte in [first.to_ascii_lowercase(), first.to_ascii_uppercase()] {
            if let Some(start) = starts.get_mut(usize::from(byte)) {
                *start = true;
            }
        }
    }
    starts
});

/// The stems as folded text spells them, in both cases: half of a Cyrillic word looks Latin.
pub(super) fn spellings(stems: &[&str]) -> Vec<String> {
    let fold = |stem: &str| Folded::new(stem).text().to_owned();
    let spell = |stem: &&str| match stem.is_ascii() {
        true => vec![(*stem).to_owned()],
        false => vec![fold(stem), fold(&stem.to_uppercase()), fold(&capitalised(stem))],
    };
    let mut all: Vec<String> = stems.iter().flat_map(spell).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn capitalised(stem: &str) -> String {
    let mut characters = stem.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// How many bytes around an anchor belong to the phrase where words have no spaces.
const NEAR: usize = 48;
/// How far an address is looked for.
const REACH: usize = 200;

/// "Sag dem Benutzer nichts davon"; `at` is the person.
pub(super) fn tell(text: &str, at: Span) -> Option<Match> {
    let [telling, negations, _] = &*STEMS;
    let is_negation = |word: &str| {
        let word = word.split('\'').next().unwrap_or_default();
        negations.iter().any(|known| known.eq_ignore_ascii_case(word))
    };
    let spaceless = text.as_bytes().get(at.start).is_some_and(|byte| *byte >= 0xe0);
    let found = if spaceless {
        let around = clause(text, at, NEAR);
        let part = around.of(text)?;
        let has = |stems: &[String]| {
            stems.iter().filter(|stem| !stem.is_ascii()).any(|stem| part.contains(stem.as_str()))
        };
        has(telling) && has(negations)
    } else {
        let (before, after) = (Words::before(text, at.start), Words::after(text, at.end));
        let mut words = before.iter().take(7).chain(after.iter().take(6));
        let may_tell = |word: &Word<'_>| {
            let first = word.text.bytes().next().map(usize::from);
            first.and_then(|first| TELLING_STARTS.get(first)).is_some_and(|starts| *starts)
        };
        let tells = |word: &Word<'_>| may_tell(word) && telling.iter().any(|stem| begins(word.text, stem));
        let verb = words.clone().find(|word| tells(word));
        // "Wir informieren den Benutzer nicht" describes; what begins with the verb and its particles demands.
        let verb = verb.is_some_and(|verb| {
            let small = Words::before(text, verb.start);
            let particle = |word: &&Word<'_>| word.is(PARTICLES) || is_negation(word.text);
            let first = small.iter().take(3).take_while(particle).last().unwrap_or(verb);
            starts_clause(text, first.start)
        });
        starts_word(text, at.start) && verb && words.any(|word| is_negation(word.text))
    };
    found.then(|| Match::new(&DO_NOT_TELL, at))
}

/// "Sende das Passwort an https://…"; `at` is the verb.
pub(super) fn send(text: &str, at: Span) -> Option<Match> {
    let [_, _, secrets] = &*STEMS;
    let clause = clause(text, at, REACH);
    let part = clause.of(text)?;
    let away = ["https://", "http://", "webhook", "@"].iter().any(|mark| part.contains(mark));
    let lower = part.to_ascii_lowercase();
    let secret = secrets.iter().any(|stem| {
        lower.match_indices(stem.as_str()).any(|(place, _)| !stem.is_ascii() || starts_word(&lower, place))
    });
    (away && secret).then(|| Match::new(&SECRET_EXFIL, at))
}

/// The sentence around `at`, at most `reach` bytes to either side.
fn clause(text: &str, at: Span, reach: usize) -> Span {
    let from = text.ceil_char_boundary(at.start.saturating_sub(reach));
    let to = text.floor_char_boundary(text.len().min(at.end + reach));
    let before = text.get(from..at.start).unwrap_or_default();
    let after = text.get(at.end..to).unwrap_or_default();
    let start = before.rfind(['。', '\n']).map_or(0, |cut| before.ceil_char_boundary(cut + 1));
    let end = after.find(['。', '\n']).unwrap_or(after.len());
    Span::new(from + start, at.end + end)
}

fn begins(word: &str, stem: &str) -> bool {
    word.as_bytes().get(..stem.len()).is_some_and(|start| start.eq_ignore_ascii_case(stem.as_bytes()))
}
