// What the page brings with it, written by windtunnel/lab/page.py.

import type { LivePanel, Looks } from "./growing";
import type { Files } from "./protocol";

export interface Example {
  readonly name: string;
  readonly text: string;
  readonly files: Files;
  /** Packets are in motion from the start. */
  readonly animated: boolean;
}

export interface Brought {
  readonly panels: readonly LivePanel[];
  readonly looks: Looks;
  /** The first is what the page opens with. */
  readonly examples: readonly Example[];
}
