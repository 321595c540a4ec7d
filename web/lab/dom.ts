// Elements of the page, and what is said to its reader.

import { Refused } from "./core";

/** The element of a name; the page has it. */
export const $ = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

export function say(message: string, wrong = false): void {
  const line = $("message");
  line.textContent = message;
  line.classList.toggle("wrong", wrong);
}

/** Says what is wrong, and marks the line of the text that it is about. */
export function sayFault(error: Error): void {
  say(error.message, true);
  if (!(error instanceof Refused) || typeof error.fault.line !== "number") return;
  const text = $<HTMLTextAreaElement>("scenario");
  const lines = text.value.split("\n");
  const start = lines.slice(0, error.fault.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
  text.focus();
  text.setSelectionRange(start, start + (lines[error.fault.line - 1]?.length ?? 0));
}

/** Copies a text, and says so on the button. */
export async function copy(text: string, button: HTMLElement): Promise<void> {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    // Without permission for the clipboard (some browsers refuse it to local files) the reader copies by hand.
    say(text);
    button.textContent = "see above";
  }
  setTimeout(() => (button.textContent = label), 2500);
}
