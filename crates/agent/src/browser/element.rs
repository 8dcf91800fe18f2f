//! What is done to single elements. Scripts of ours run in a world of their own, where a page cannot change what they
//! call; what they do to an element is what a person's input does.

use serde_json::{Value, json};

use super::action::Ref;
use super::failure::Failure;
use super::keys::Stroke;
use super::wire::Wire;

/// The name of the world of our scripts.
const WORLD: &str = "fullsend";
/// Scrolls to an element and says where a click reaches it and nothing else.
const AIM: &str = include_str!("scripts/aim.js");
/// Whether a box is ticked.
const CHECKED: &str = include_str!("scripts/checked.js");
/// Replaces the content of a field.
const FILL: &str = include_str!("scripts/fill.js");
/// Makes an element take what is typed.
const FOCUS: &str = include_str!("scripts/focus.js");
/// Chooses an option.
const SELECT: &str = include_str!("scripts/select.js");
/// The text of an element.
const TEXT: &str = "function () { return { value: String(this.innerText ?? this.textContent ?? '') }; }";
/// The text of the first element that a selector finds.
const TEXT_OF: &str = include_str!("scripts/text_of.js");
/// Whether an element can be seen.
const VISIBLE: &str = "function () { \
    const seen = this.isConnected && (!this.checkVisibility || this.checkVisibility({ visibilityProperty: true })); \
    return { value: Boolean(seen && this.getClientRects && this.getClientRects().length) }; }";

/// Clicks an element.
pub(super) async fn click(wire: &Wire, element: &Ref) -> Result<(), Failure> {
    let place = call(wire, element, AIM, &[]).await?;
    let (x, y) = (place.get("x").unwrap_or(&Value::Null), place.get("y").unwrap_or(&Value::Null));
    for (kind, buttons) in [("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)] {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let event = json!({
            "type": kind, "x": x, "y": y, "button": button, "buttons": buttons,
            "clickCount": i32::from(kind != "mouseMoved"),
        });
        wire.page("Input.dispatchMouseEvent", event).await?;
    }
    Ok(())
}

/// Ticks a box or chooses a radio button, unless it is.
pub(super) async fn check(wire: &Wire, element: &Ref) -> Result<(), Failure> {
    if call(wire, element, CHECKED, &[]).await? == Value::Bool(true) {
        return Ok(());
    }
    click(wire, element).await?;
    if call(wire, element, CHECKED, &[]).await? == Value::Bool(true) {
        return Ok(());
    }
    Err(Failure::command(format!("{} was clicked and is still not checked", element.as_str())))
}

/// Replaces the content of a field.
pub(super) async fn fill(wire: &Wire, element: &Ref, value: &str) -> Result<(), Failure> {
    let way = call(wire, element, FILL, &[value.into()]).await?;
    // Text that is edited in place has no value: its content is selected, and input replaces it.
    match (way.as_str(), value.is_empty()) {
        (Some("selected"), true) => press_named(wire, "Delete").await,
        (Some("selected"), false) => insert(wire, value).await,
        _ => Ok(()),
    }
}

/// Types into an element, key by key.
pub(super) async fn type_into(wire: &Wire, element: &Ref, value: &str) -> Result<(), Failure> {
    call(wire, element, FOCUS, &[]).await?;
    for character in value.chars() {
        match Stroke::of(character) {
            Some(stroke) => press(wire, &stroke).await?,
            None => insert(wire, character.encode_utf8(&mut [0; 4])).await?,
        }
    }
    Ok(())
}

/// Chooses an option by its value or its label.
pub(super) async fn select(wire: &Wire, element: &Ref, value: &str) -> Result<(), Failure> {
    call(wire, element, SELECT, &[value.into()]).await.map(drop)
}

/// Presses a key, wherever input goes.
pub(super) async fn press(wire: &Wire, stroke: &Stroke) -> Result<(), Failure> {
    for event in stroke.events() {
        wire.page("Input.dispatchKeyEvent", event).await?;
    }
    Ok(())
}

async fn press_named(wire: &Wire, name: &str) -> Result<(), Failure> {
    match Stroke::parse(name) {
        Some(stroke) => press(wire, &stroke).await,
        None => Ok(()),
    }
}

async fn insert(wire: &Wire, text: &str) -> Result<(), Failure> {
    wire.page("Input.insertText", json!({ "text": text })).await.map(drop)
}

/// Whether an element can be seen.
pub(super) async fn is_visible(wire: &Wire, element: &Ref) -> Result<bool, Failure> {
    Ok(call(wire, element, VISIBLE, &[]).await? == Value::Bool(true))
}

/// The text of an element.
pub(super) async fn text(wire: &Wire, element: &Ref) -> Result<String, Failure> {
    Ok(call(wire, element, TEXT, &[]).await?.as_str().unwrap_or_default().to_owned())
}

/// The text of the first element that a CSS selector finds.
pub(super) async fn text_of(wire: &Wire, selector: &str) -> Result<String, Failure> {
    let world = world(wire).await?;
    let params = json!({ "executionContextId": world, "functionDeclaration": TEXT_OF, "returnByValue": true,
        "arguments": [{ "value": selector }] });
    let value = outcome(wire.page("Runtime.callFunctionOn", params).await?, "the target")?;
    Ok(value.as_str().unwrap_or_default().to_owned())
}

/// Calls a script with an element as `this`.
async fn call(wire: &Wire, element: &Ref, script: &str, arguments: &[Value]) -> Result<Value, Failure> {
    let name = element.as_str();
    let node = wire.state().element(element).ok_or_else(|| {
        Failure::command(format!("{name} is not in the last snapshot of this page; take a new snapshot"))
    })?;
    let resolve = json!({ "backendNodeId": node, "executionContextId": world(wire).await? });
    let gone = |failure| match failure {
        Failure::Command(_) => Failure::command(format!("{name} is gone; take a new snapshot")),
        other @ (Failure::Input(_) | Failure::Lease(_) | Failure::Host(_)) => other,
    };
    let answer = wire.page("DOM.resolveNode", resolve).await.map_err(gone)?;
    let object = answer.pointer("/object/objectId").cloned().unwrap_or_default();
    let arguments: Vec<Value> = arguments.iter().map(|value| json!({ "value": value })).collect();
    let params = json!({ "objectId": object, "functionDeclaration": script, "returnByValue": true,
        "arguments": arguments, "userGesture": true });
    outcome(wire.page("Runtime.callFunctionOn", params).await?, name)
}

/// The world of our scripts in the page as it is now.
async fn world(wire: &Wire) -> Result<Value, Failure> {
    let frame = wire.state().target.clone();
    let params = json!({ "frameId": frame, "worldName": WORLD });
    let answer = wire.page("Page.createIsolatedWorld", params).await?;
    Ok(answer.get("executionContextId").cloned().unwrap_or_default())
}

/// What a script of ours says: a value, or what is wrong with the element.
fn outcome(mut answer: Value, name: &str) -> Result<Value, Failure> {
    if let Some(problem) = answer.pointer("/result/value/problem").and_then(Value::as_str) {
        return Err(Failure::command(format!("{name} {problem}")));
    }
    match answer.pointer_mut("/result/value/value") {
        Some(value) => Ok(value.take()),
        None => Err(Failure::command(format!("{name} cannot be used this way"))),
    }
}
