// A ring around the sample under the mouse and a box with its values.

export interface Hit {
  readonly left: number;
  readonly top: number;
  readonly label: string;
  readonly value: string;
  readonly time: string;
  readonly note: string;
}

export class Tooltip {
  private readonly ring = document.createElement("div");
  private readonly box = document.createElement("div");

  constructor(private over: HTMLElement) {
    this.ring.className = "hit-ring";
    this.box.className = "hit-box";
    this.attach(over);
    this.hide();
  }

  attach(over: HTMLElement): void {
    this.over = over;
    over.append(this.ring, this.box);
  }

  hide(): void {
    this.ring.hidden = true;
    this.box.hidden = true;
  }

  show(hit: Hit): void {
    this.ring.hidden = false;
    this.box.hidden = false;
    this.ring.style.translate = `${hit.left}px ${hit.top}px`;
    const value = document.createElement("strong");
    value.textContent = hit.value;
    const lines = [hit.label, value, `at ${hit.time}`, hit.note].filter((x) => x !== "");
    this.box.replaceChildren(
      ...lines.map((x) => {
        const line = document.createElement("div");
        line.append(x);
        return line;
      }),
    );
    const { clientWidth: width, clientHeight: height } = this.over;
    const x = hit.left + 12 + this.box.offsetWidth > width ? hit.left - 12 - this.box.offsetWidth : hit.left + 12;
    const y = Math.max(0, Math.min(height - this.box.offsetHeight, hit.top - this.box.offsetHeight / 2));
    this.box.style.translate = `${Math.max(0, x)}px ${y}px`;
  }
}
