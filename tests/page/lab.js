// Helpers that run inside a page under test.

// Boxes of all visible texts that overlap each other or leave their room: a list of sentences.
function collisions(root, room) {
  const found = [];
  const boxes = [];
  for (const text of root.querySelectorAll("svg.plot text")) {
    const box = text.getBoundingClientRect();
    if (box.width === 0 || getComputedStyle(text).visibility === "hidden") continue;
    boxes.push([text.textContent, box]);
  }
  const frame = root.querySelector("svg.plot").getBoundingClientRect();
  boxes.forEach(([text, a], i) => {
    if (a.left < frame.left - 0.5 || a.right > frame.right + 0.5)
      found.push(`${text} leaves the picture`);
    if (a.top < frame.top - 0.5 || a.bottom > frame.bottom + 0.5)
      found.push(`${text} leaves the picture`);
    for (const [other, b] of boxes.slice(i + 1)) {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 0.5 && high > 1) found.push(`${text} × ${other}`);
    }
  });
  const { scrollWidth } = document.documentElement;
  if (scrollWidth > room) found.push(`the page is ${scrollWidth} wide, of ${room}`);
  return found;
}

// Overlaps among the texts of the page outside the picture, and texts cut off by their boxes.
function crowding(root) {
  const found = [];
  const boxes = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("svg, option, script, style, textarea, .tip")) continue;
    if (!parent.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width > 1 && box.height > 1) boxes.push([node.data.trim().slice(0, 40), box, node]);
    }
  }
  boxes.forEach(([text, a, node], i) => {
    const scroller = node.parentElement.closest(".scroll, .presets");
    if (!scroller && (a.left < -0.5 || a.right > innerWidth + 0.5))
      found.push(`${text} leaves the page`);
    for (const [other, b, that] of boxes.slice(i + 1)) {
      if (node === that) continue;
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 3) found.push(`${text} × ${other}`);
    }
  });
  return found;
}
