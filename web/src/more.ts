// What goes on beyond its edge says so: a box that can be scrolled fades where there is more, because some systems show no
// scroll bar until one scrolls.

const BOXES = ".scroll, .legend, .flows";

/** Where content is outside of a box, as classes. */
export function beyond(box: {
  readonly scrollLeft: number;
  readonly scrollTop: number;
  readonly clientWidth: number;
  readonly clientHeight: number;
  readonly scrollWidth: number;
  readonly scrollHeight: number;
}): { left: boolean; right: boolean; below: boolean } {
  // Sizes are rounded to whole pixels, so that one of them is no content.
  return {
    left: box.scrollLeft > 1,
    right: box.scrollLeft + box.clientWidth < box.scrollWidth - 1,
    below: box.scrollTop + box.clientHeight < box.scrollHeight - 1,
  };
}

function mark(box: HTMLElement): void {
  const { left, right, below } = beyond(box);
  box.classList.toggle("more-left", left);
  box.classList.toggle("more-right", right);
  box.classList.toggle("more-below", below);
}

/** Marks the boxes of the page, and those that come later. */
export function startMore(): void {
  const seen = new WeakSet<HTMLElement>();
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const box = target.closest<HTMLElement>(BOXES);
      if (box !== null) mark(box);
    }
  });
  const find = (): void => {
    for (const box of document.querySelectorAll<HTMLElement>(BOXES)) {
      if (!seen.has(box)) {
        seen.add(box);
        box.addEventListener("scroll", () => mark(box), { passive: true });
        sizes.observe(box);
      }
      // What is in it may grow while the box does not.
      for (const child of box.children) {
        if (child instanceof HTMLElement && !seen.has(child)) {
          seen.add(child);
          sizes.observe(child);
        }
      }
    }
  };
  find();
  new MutationObserver((changes) => {
    if (changes.some((change) => [...change.addedNodes].some((node) => node instanceof HTMLElement))) find();
  }).observe(document.body, { childList: true, subtree: true });
}
