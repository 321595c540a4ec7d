// The run, in a thread of its own: it hands questions to WebAssembly and answers back, and understands neither.

interface Exports {
  readonly memory: WebAssembly.Memory;
  windtunnel_question(length: number): number;
  windtunnel_ask(): number;
  windtunnel_answer(): number;
}

interface Scope {
  onmessage: ((event: MessageEvent<ArrayBuffer | string>) => void) | null;
  postMessage(message: unknown, transfer?: Transferable[]): void;
}

const scope = self as unknown as Scope;
let core: Promise<Exports> | null = null;

async function start(code: ArrayBuffer): Promise<Exports> {
  const { instance } = await WebAssembly.instantiate(code, {});
  return instance.exports as unknown as Exports;
}

function ask(exports: Exports, question: string): ArrayBuffer {
  const bytes = new TextEncoder().encode(question);
  const at = exports.windtunnel_question(bytes.length) >>> 0;
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
  const length = exports.windtunnel_ask() >>> 0;
  const from = exports.windtunnel_answer() >>> 0;
  return exports.memory.buffer.slice(from, from + length) as ArrayBuffer;
}

// First comes the code; then come questions, which are answered one after the other.
scope.onmessage = async ({ data }) => {
  if (typeof data !== "string") {
    core = start(data);
    return;
  }
  try {
    const answer = ask(await core!, data);
    scope.postMessage(answer, [answer]);
  } catch (error) {
    scope.postMessage(String(error));
  }
};
