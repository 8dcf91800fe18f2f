//! The browser tool and what only pretends to be a browser.
