//! Instructions to the model in what it reads.
//!
//! One pass finds rare words; around each a matcher looks at a few words to either side, so that time is linear and fillers,
//! line breaks and markup do not hide a phrase. The text is folded first, which undoes look-alikes. What is encoded is
//! decoded and looked at again.
//!
//! How bad a match is depends on what it asks for and on where it stands: hidden or encoded it is worst; quoted amid talk
//! about attacks it is reported, but does not stop the work.

mod addressed;
mod anchors;
mod authority;
mod commands;
mod context;
mod danger;
mod encoded;
mod escapes;
mod exfiltration;
mod foreign;
mod found;
mod hidden;
mod languages;
mod layer;
mod links;
mod overrides;
mod payload;
mod persona;
mod respelt;
mod rules;
mod secrecy;
mod source;
mod starts;
mod takeover;
mod templates;
mod words;

pub use rules::{
    ACT_NO_RESTRICTIONS, ADDRESSES_MODEL, ALL as RULES, BASE64_ENV_EXFIL, CAT_SECRETS_FILE, CHAT_TEMPLATE,
    CLAIMED_AUTHORITY, CURL_WITH_CREDS, DO_NOT_TELL, ENV_EXFIL_PRINTENV, FAKE_MESSAGE, FORCED_STEP,
    HIDDEN_DIV, HIDDEN_HTML_COMMENT, HIDDEN_TEXT, IGNORE_INSTRUCTIONS, IMAGE_EXFIL, MISLEADING_LINK,
    NEW_INSTRUCTIONS, PRETEND_YOU_ARE, PROMPT_LEAK, ROLE_SWITCH, SECRET_EXFIL, SILENT_COMMAND,
    SYSTEM_PROMPT_OVERRIDE, TOO_MANY_PAYLOADS, TRANSLATE_AND_EXECUTE,
};

use crate::finding::Finding;
use crate::scanner::{FindingList, Scan, Scanner, ScannerId};

/// Finds instructions to the model.
#[derive(Clone, Copy, Debug, Default)]
pub struct InjectionScanner;

impl Scanner for InjectionScanner {
    fn id(&self) -> ScannerId {
        ScannerId::ContextInjection
    }

    fn scan(&self, text: &str) -> Scan {
        let mut list = FindingList::default();
        for found in layer::read(text) {
            let detail = found.detail.unwrap_or_default();
            list.push(Finding::new(found.rule, found.span, detail).with_severity(found.severity));
        }
        Scan { findings: list.into_vec(), ..Scan::default() }
    }
}
