// The state of the lab in the page's address: the text of the scenario, packed, and the time. Whoever gets the link sees
// what its sender saw; a damaged one opens the lab with a message.

/** What an address says. */
export interface Place {
  readonly text: string;
  /** In nanoseconds. */
  readonly at: number;
}

const PACKED = "deflate-raw";

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const out = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(out).arrayBuffer());
}

function toText(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function fromText(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
}

/** The address's part behind "#". */
export async function writePlace({ text, at }: Place): Promise<string> {
  const packed = await through(new TextEncoder().encode(text), new CompressionStream(PACKED));
  return `at=${at}&scenario=${toText(packed)}`;
}

/** What the part behind "#" says; nothing if it says nothing of a scenario. Raises an error if it is damaged. */
export async function readPlace(hash: string): Promise<Place | null> {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  const packed = query.get("scenario");
  if (packed === null) return null;
  try {
    const bytes = await through(fromText(packed), new DecompressionStream(PACKED));
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { text, at: Math.max(0, Math.round(Number(query.get("at") ?? 0))) || 0 };
  } catch {
    throw new Error("This link is damaged: the scenario in its address cannot be unpacked. Ask for the link again, or paste the TOML.");
  }
}
