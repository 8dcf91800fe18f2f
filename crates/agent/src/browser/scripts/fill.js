function (text) {
  if (this.disabled || this.readOnly) return { problem: "cannot be changed" };
  if (this.isContentEditable) {
    this.focus();
    getSelection().selectAllChildren(this);
    return { value: "selected" };
  }
  const prototype = { INPUT: HTMLInputElement, TEXTAREA: HTMLTextAreaElement }[this.tagName]?.prototype;
  const kind = this.tagName === "INPUT" ? this.type : "";
  if (!prototype || ["button", "checkbox", "hidden", "image", "radio", "reset", "submit"].includes(kind)) {
    return { problem: "cannot be filled" };
  }
  if (kind === "file") return { problem: "takes files, and files are refused" };
  this.focus();
  Object.getOwnPropertyDescriptor(prototype, "value").set.call(this, text);
  const taken = Object.getOwnPropertyDescriptor(prototype, "value").get.call(this);
  this.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true, data: text }));
  this.dispatchEvent(new Event("change", { bubbles: true }));
  if (text !== "" && taken === "") return { problem: `does not take this value: it is of type ${kind}` };
  return { value: "filled" };
}
