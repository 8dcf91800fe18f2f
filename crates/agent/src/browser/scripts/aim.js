function () {
  if (!this.isConnected) return { problem: "is gone; take a new snapshot" };
  if (this.disabled) return { problem: "is disabled" };
  const boxed = (node) => node && [...node.getClientRects()].find((box) => box.width > 0 && box.height > 0);
  // Boxes that are drawn by their label have no place of their own.
  const spot = boxed(this) ? this : [...(this.labels ?? [])].find(boxed);
  if (!spot) return { problem: "is not visible" };
  spot.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
  const box = boxed(spot);
  const middle = (from, to, end) => (Math.max(from, 0) + Math.min(to, end)) / 2;
  const x = middle(box.left, box.right, innerWidth);
  const y = middle(box.top, box.bottom, innerHeight);
  const hit = spot.getRootNode().elementFromPoint(x, y);
  if (!hit) return { problem: "is outside of what can be seen" };
  const label = hit.closest("label");
  if (hit !== spot && !spot.contains(hit) && !(label && label.control === this)) {
    return { problem: "is covered by another element" };
  }
  return { value: { x, y } };
}
