// The run as the page sees it: one question after the other to a worker.

import { type About, type Edit, type Fault, type Files, type Progress, type Question, readAnswer } from "./protocol";

/** A fault of the text or of a change: the message is that of the command line. */
export class Refused extends Error {
  constructor(readonly fault: Fault) {
    super(fault.message);
  }
}

type Waiting = { resolve(answer: Readonly<Record<string, unknown>>): void; reject(error: Error): void };

export class Core {
  private readonly waiting: Waiting[] = [];

  private constructor(private readonly worker: Worker) {
    worker.onmessage = ({ data }: MessageEvent<ArrayBuffer | string>) => {
      const { resolve, reject } = this.waiting.shift()!;
      if (typeof data === "string") {
        reject(new Error(`The simulator stopped: ${data}`));
        return;
      }
      const answer = readAnswer(data);
      const fault = answer["fault"] as Fault | undefined;
      if (fault === undefined) resolve(answer);
      else reject(new Refused(fault));
    };
  }

  /** Starts it. `script` is the worker's text, `code` that of WebAssembly, packed by gzip. */
  static async start(script: string, code: Uint8Array<ArrayBuffer>): Promise<Core> {
    // A page from a file has no origin from which a worker's file could be loaded; a blob is the page's own.
    const worker = new Worker(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
    const unpacked = new Blob([code]).stream().pipeThrough(new DecompressionStream("gzip"));
    const bytes = await new Response(unpacked).arrayBuffer();
    worker.postMessage(bytes, [bytes]);
    return new Core(worker);
  }

  private ask(question: Question): Promise<Readonly<Record<string, unknown>>> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      this.worker.postMessage(JSON.stringify(question));
    });
  }

  async open(text: string, files: Files, packets: boolean): Promise<About> {
    return (await this.ask({ ask: "open", text, files, packets })) as unknown as About;
  }

  async advance(until: number, events: number): Promise<Progress> {
    return (await this.ask({ ask: "advance", until: Math.round(until), events })) as unknown as Progress;
  }

  async step(): Promise<Progress> {
    return (await this.ask({ ask: "step" })) as unknown as Progress;
  }

  async edit(at: number, edit: Edit): Promise<string> {
    return (await this.ask({ ask: "edit", at, edit }))["text"] as string;
  }

  async summary(): Promise<Readonly<Record<string, unknown>>> {
    return (await this.ask({ ask: "summary" }))["summary"] as Record<string, unknown>;
  }

  async resolve(): Promise<string> {
    return (await this.ask({ ask: "resolve" }))["text"] as string;
  }

  async kinds(): Promise<Readonly<Record<string, unknown>>> {
    return this.ask({ ask: "kinds" });
  }
}
