import type { Hello, RequestDetails, RequestSummary, Tick } from '../../src/wire.js';

/** A page as the server sees it: it listens, and asks. */
export class Page {
  readonly url: string;
  readonly requests = new Map<number, RequestSummary>();
  /** Each message as it was sent. */
  readonly wire: string[] = [];
  latest!: Tick;
  hello!: Hello;
  ended = false;
  readonly #leave = new AbortController();
  #heard = (): void => undefined;

  private constructor(url: string) {
    this.url = `${url}/inspector`;
  }

  static async open(url: string): Promise<Page> {
    const page = new Page(url);
    const response = await fetch(`${page.url}/events`, { signal: page.#leave.signal });
    void page.#read(response.body!).catch(() => undefined);
    await page.until(() => page.hello !== undefined);
    return page;
  }

  /** Resolves when what was heard so far fulfils the condition. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.ended) throw new Error('The stream ended before that');
      await new Promise<void>((resolve) => (this.#heard = resolve));
    }
  }

  async request(fits: (request: RequestSummary) => boolean): Promise<RequestSummary> {
    const find = (): RequestSummary | undefined => [...this.requests.values()].find(fits);
    await this.until(() => find() !== undefined);
    return find()!;
  }

  async details(id: number): Promise<RequestDetails> {
    const response = await fetch(`${this.url}/request?id=${id}`);
    return (await response.json()) as RequestDetails;
  }

  leave(): void {
    this.#leave.abort();
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    let text = '';
    try {
      for await (const chunk of body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)) {
        const messages = (text + chunk).split('\n\n');
        text = messages.pop() ?? '';
        for (const message of messages) this.#take(message);
      }
    } finally {
      this.ended = true;
      this.#heard();
    }
  }

  #take(message: string): void {
    this.wire.push(message);
    const tick = JSON.parse(/^data: (.*)$/m.exec(message)![1]!) as Hello;
    if (message.includes('event: hello')) this.hello = tick;
    this.latest = tick;
    for (const request of tick.requests) this.requests.set(request.id, request);
    this.#heard();
  }
}
