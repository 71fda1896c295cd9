import type { IncomingMessage, ServerResponse } from 'node:http';

export interface Show {
  /** The first one is there. */
  begin(): void;
  /** The last one has been gone for a while. */
  end(): void;
  /** What a newcomer is told. */
  hello(): unknown;
  /** What all are told. */
  tick(): unknown;
}

export interface AudienceTimes {
  readonly tickMs: number;
  readonly lingerMs: number;
}

/** A page that does not read what it is sent is let go, and comes back for everything at once. */
const MOST_BEHIND = 4_000_000;
const MOST_PAGES = 20;

/** The pages that are open, as server-sent events. While there is none, nothing happens here. */
export class Audience {
  readonly #show: Show;
  readonly #times: AudienceTimes;
  readonly #pages = new Set<ServerResponse>();
  #server: { readonly listening?: boolean } | undefined;
  #ticking: NodeJS.Timeout | undefined;
  #leaving: NodeJS.Timeout | undefined;

  constructor(show: Show, times: AudienceTimes) {
    this.#show = show;
    this.#times = times;
  }

  join({ socket }: IncomingMessage, response: ServerResponse): void {
    if (this.#pages.size >= MOST_PAGES) {
      response.writeHead(503).end(`${MOST_PAGES} pages are open already`);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    clearTimeout(this.#leaving);
    if (!this.#ticking) this.#begin();
    this.#pages.add(response);
    // Node sets it on every socket it accepts.
    this.#server = (socket as { readonly server?: { readonly listening?: boolean } }).server;
    response.on('close', () => this.#leave(response));
    // A stream has no use for the time-out of idle connections.
    socket.setTimeout(0);
    response.write(`retry: 500\nevent: hello\ndata: ${JSON.stringify(this.#show.hello())}\n\n`);
  }

  /** Lets all pages go, as when the server closes: it would wait for them for ever. */
  dismiss(): void {
    for (const page of this.#pages) page.end();
    this.#end();
  }

  #begin(): void {
    this.#show.begin();
    this.#ticking = setInterval(() => this.#tick(), this.#times.tickMs);
    this.#ticking.unref();
  }

  #tick(): void {
    if (this.#server?.listening === false) return this.dismiss();
    // While the last one is away for a moment, changes wait for its return.
    if (this.#pages.size === 0) return;
    const message = `data: ${JSON.stringify(this.#show.tick())}\n\n`;
    for (const page of this.#pages) {
      if (page.writableLength > MOST_BEHIND) page.destroy();
      else page.write(message);
    }
  }

  #leave(page: ServerResponse): void {
    this.#pages.delete(page);
    if (this.#pages.size > 0 || !this.#ticking) return;
    clearTimeout(this.#leaving);
    this.#leaving = setTimeout(() => this.#end(), this.#times.lingerMs);
    this.#leaving.unref();
  }

  #end(): void {
    if (!this.#ticking) return;
    clearTimeout(this.#leaving);
    clearInterval(this.#ticking);
    this.#ticking = undefined;
    this.#show.end();
  }
}
