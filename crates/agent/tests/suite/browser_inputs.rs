//! What may be asked of a browser.
