// The buttons of the page: how the run goes, what is seen of it, and what is taken from it.

import type { TimeRange } from "../src/range";
import { writePlace } from "./address";
import type { Example } from "./brought";
import type { Core } from "./core";
import { $, copy } from "./dom";
import type { Player } from "./player";

/** The speed at which packets can be followed. */
const SLOW = "0.001";

function clicked(id: string, act: (button: HTMLElement) => void): void {
  $(id).addEventListener("click", (event) => act(event.currentTarget as HTMLElement));
}

/** How far, how fast, and from which example. */
export function bindRun(player: Player, examples: readonly Example[]): void {
  clicked("play", () => (player.playing ? player.pause() : player.play()));
  clicked("step", () => player.step());
  clicked("rewind", () => player.seek(0));
  const time = $<HTMLInputElement>("time");
  time.addEventListener("change", () => player.seek(Number(time.value)));
  const speed = $<HTMLSelectElement>("speed");
  const pace = () => (player.speed = speed.value === "fast" ? Infinity : Number(speed.value));
  speed.addEventListener("change", pace);
  pace();
  const animate = $<HTMLInputElement>("animate");
  animate.addEventListener("change", () => {
    $("animation-box").hidden = !animate.checked;
    player.record(animate.checked);
  });
  const list = $<HTMLSelectElement>("examples");
  examples.forEach(({ name }, i) => list.append(new Option(name, String(i))));
  list.addEventListener("change", () => {
    const { text, files, animated } = examples[Number(list.value)]!;
    player.pause();
    animate.checked = animated;
    $("animation-box").hidden = !animated;
    player.packets = animated;
    speed.value = animated ? SLOW : "1";
    pace();
    void player.open(text, files);
  });
}

/** Which part of the time the panels show. */
export function bindRange(range: () => TimeRange): void {
  const actions: Record<string, (r: TimeRange) => void> = {
    in: (r) => r.zoom(0.5),
    out: (r) => r.zoom(2),
    left: (r) => r.pan(-0.5),
    right: (r) => r.pan(0.5),
    reset: (r) => r.reset(),
  };
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-range]")) {
    button.addEventListener("click", () => actions[button.dataset["range"] ?? ""]?.(range()));
  }
}

/** The text: run as it was typed, or copied. */
export function bindText(player: Player, core: Core): void {
  clicked("run-text", () => void player.open($<HTMLTextAreaElement>("scenario").value));
  clicked("copy-toml", (button) => void copy(player.text, button));
  clicked("copy-defaults", (button) => void core.resolve().then((text) => copy(text, button)));
  clicked("copy-link", (button) => {
    const page = location.href.replace(/#.*/, "");
    void writePlace({ text: player.text, at: player.now }).then((hash) => copy(`${page}#${hash}`, button));
  });
}
