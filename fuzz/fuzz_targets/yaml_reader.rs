//! Feeds arbitrary bytes to the YAML reader: it may refuse them, but never panic, hang or run out of memory.
#![no_main]

use granit_parser::Parser;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        Parser::new_from_str(text)
            .take_while(Result::is_ok)
            .for_each(drop);
    }
});
