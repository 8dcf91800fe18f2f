//! Feeds arbitrary text to the reader of runtime settings: it ends, and every place it names lies in the text.
#![no_main]

use fullsend_guard::files::runtime_config;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for name in ["settings.json", "config.toml"] {
        for finding in runtime_config(name, text) {
            assert!(finding.span.is_none_or(|span| span.of(text).is_some()), "{name}: {finding:?}");
        }
    }
});
