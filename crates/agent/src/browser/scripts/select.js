function (wanted) {
  if (this.tagName !== "SELECT") return { problem: "is not a list of options" };
  if (this.disabled) return { problem: "is disabled" };
  const options = [...HTMLSelectElement.prototype.__lookupGetter__("options").call(this)];
  const option =
    options.find((option) => option.value === wanted) ?? options.find((option) => option.label.trim() === wanted.trim());
  if (!option) return { problem: "has no such option" };
  if (option.disabled) return { problem: "has this option, but it is disabled" };
  this.focus();
  for (const other of options) other.selected = other === option;
  this.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  this.dispatchEvent(new Event("change", { bubbles: true }));
  return { value: true };
}
