// A canvas that writes SVG: as much of CanvasRenderingContext2D as draw.ts and ticks.ts use. Clouds of dots, which
// they draw into an image, become that image.

/** What both kinds of path can do. */
export interface Pen {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  arc(x: number, y: number, r: number, from: number, to: number): void;
  closePath(): void;
}

/** Two digits are a hundredth of a pixel. */
function n(v: number): string {
  return String(Math.round(v * 100) / 100);
}

/** A path as the `d` attribute of an SVG path. */
export class SvgPath implements Pen {
  d = "";

  moveTo(x: number, y: number): void {
    if (Number.isFinite(x + y)) this.d += `M${n(x)} ${n(y)}`;
  }

  lineTo(x: number, y: number): void {
    if (Number.isFinite(x + y)) this.d += `${this.d === "" ? "M" : "L"}${n(x)} ${n(y)}`;
  }

  /** A whole circle: no other arcs are drawn. */
  arc(x: number, y: number, r: number): void {
    if (Number.isFinite(x + y)) this.d += `M${n(x - r)} ${n(y)}a${n(r)} ${n(r)} 0 1 0 ${n(2 * r)} 0a${n(r)} ${n(r)} 0 1 0 ${n(-2 * r)} 0z`;
  }

  rect(x: number, y: number, w: number, h: number): void {
    if (Number.isFinite(x + y + w + h)) this.d += `M${n(x)} ${n(y)}h${n(w)}v${n(h)}h${n(-w)}z`;
  }

  closePath(): void {
    this.d += "z";
  }
}

/** An empty path for a canvas, or for what writes SVG in its place. */
export function newPath(ctx: CanvasRenderingContext2D): Path2D {
  return (ctx as unknown) instanceof SvgContext ? (new SvgPath() as unknown as Path2D) : new Path2D();
}

/** Draws into text. */
export class SvgContext {
  strokeStyle = "#000";
  fillStyle = "#000";
  lineWidth = 1;
  lineJoin = "miter";
  globalAlpha = 1;
  private readonly out: string[] = [];
  private path = new SvgPath();
  private dash: readonly number[] = [];
  private open = 0;

  get text(): string {
    return this.out.join("\n") + "</g>".repeat(this.open);
  }

  save(): void {}

  restore(): void {
    this.out.push("</g>".repeat(this.open));
    this.open = 0;
  }

  beginPath(): void {
    this.path = new SvgPath();
  }

  moveTo(x: number, y: number): void {
    this.path.moveTo(x, y);
  }

  lineTo(x: number, y: number): void {
    this.path.lineTo(x, y);
  }

  closePath(): void {
    this.path.closePath();
  }

  rect(x: number, y: number, w: number, h: number): void {
    this.path.rect(x, y, w, h);
  }

  clip(): void {
    this.out.push(`<clipPath id="area"><path d="${this.path.d}"/></clipPath><g clip-path="url(#area)">`);
    this.open++;
  }

  translate(x: number, y: number): void {
    this.out.push(`<g transform="translate(${n(x)} ${n(y)})">`);
    this.open++;
  }

  setLineDash(dash: readonly number[]): void {
    this.dash = dash;
  }

  stroke(path: SvgPath = this.path): void {
    if (path.d === "") return;
    const dash = this.dash.length > 0 ? ` stroke-dasharray="${this.dash.map(n).join(" ")}"` : "";
    const alpha = this.globalAlpha < 1 ? ` opacity="${n(this.globalAlpha)}"` : "";
    this.out.push(
      `<path d="${path.d}" fill="none" stroke="${this.strokeStyle}" stroke-width="${n(this.lineWidth)}" stroke-linejoin="${this.lineJoin}"${dash}${alpha}/>`,
    );
  }

  fill(path: SvgPath = this.path): void {
    if (path.d === "") return;
    const alpha = this.globalAlpha < 1 ? ` opacity="${n(this.globalAlpha)}"` : "";
    this.out.push(`<path d="${path.d}" fill="${this.fillStyle}"${alpha}/>`);
  }

  drawImage(image: HTMLCanvasElement, x: number, y: number): void {
    this.out.push(`<image x="${n(x)}" y="${n(y)}" width="${image.width}" height="${image.height}" href="${image.toDataURL()}"/>`);
  }
}
