function (selector) {
  let found;
  try {
    found = Document.prototype.querySelector.call(document, selector);
  } catch {
    return { problem: "is not a CSS selector" };
  }
  if (!found) return { problem: "is not on the page" };
  return { value: String(found.innerText ?? found.textContent ?? "") };
}
