function () {
  const kind = (this.type ?? "").toLowerCase();
  if (this.tagName === "INPUT" && ["checkbox", "radio"].includes(kind)) return { value: this.checked };
  if (this.hasAttribute("aria-checked")) return { value: this.getAttribute("aria-checked") === "true" };
  return { problem: "cannot be checked" };
}
