function () {
  if (this.disabled || this.readOnly) return { problem: "cannot be changed" };
  this.focus();
  const focused = this.getRootNode().activeElement;
  if (focused !== this && !this.contains(focused)) return { problem: "does not take input" };
  return { value: true };
}
