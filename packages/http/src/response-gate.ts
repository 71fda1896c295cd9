import type { ServerResponse } from 'node:http';
import type { GateKeeper } from './held-response.js';
import * as heads from './head.js';
import { pretendSent } from './node-internals.js';

type Method = (...args: unknown[]) => unknown;
type Methods = Record<heads.Sender | 'on', Method> & { /** On Express only. */ readonly send?: Method };

const GATE = Symbol('ambit.gate');

/**
 * Holds a response back until it is decided whether it may leave. Whatever would send the first byte starts the
 * decision; it and all that follows wait, and then happen, in order and with the head as it was at that moment.
 *
 * Our methods stay on the response, since others may have wrapped them; once the gate is open they only pass on. They
 * are properties of the response and not of a prototype, which Express replaces on the way into a mounted application.
 */
export class ResponseGate {
  readonly #res: ServerResponse;
  readonly #keeper: GateKeeper;
  readonly #direct: Methods;
  #waiting: (() => unknown)[] = [];
  #state: 'unasked' | 'asked' | 'open' = 'unasked';
  /** `end()` was called: whatever comes now belongs to a second response. */
  #complete = false;
  /** The first part of a response was discarded, and the rest of it may follow. */
  #isDiscarding = false;
  /** Listeners for `drain` that a middleware keeps for a stream of its own, which knows nothing of this gate. */
  #kept: (() => unknown)[] | undefined = undefined;

  constructor(res: ServerResponse, keeper: GateKeeper) {
    this.#res = res;
    this.#keeper = keeper;
    const { end, flushHeaders, on, send, write, writeHead } = res as unknown as Methods;
    this.#direct = { end, flushHeaders, on, write, writeHead, ...(send && { send }) };
    Object.assign(res, { [GATE]: this }, ResponseGate.#methods, send && ResponseGate.#send);
  }

  /** The same functions for every response: with functions of its own, each would be of a shape of its own to V8. */
  static readonly #methods: Methods & ThisType<{ readonly [GATE]: ResponseGate }> = {
    end(...args) {
      return this[GATE].#end(args);
    },
    flushHeaders() {
      const gate = this[GATE];
      return gate.#complete ? undefined : gate.#start('flushHeaders', []);
    },
    on(...args) {
      return this[GATE].#on(args);
    },
    write(...args) {
      return this[GATE].#write(args);
    },
    writeHead(...args) {
      return this[GATE].#writeHead(args);
    },
  };

  /** Behind `json()` as well. It would change the head, and so throw, where the first response has left already. */
  static readonly #send: Pick<Methods, 'send'> & ThisType<{ readonly [GATE]: ResponseGate }> = {
    send(...args) {
      const gate = this[GATE];
      return gate.#complete ? gate.#drop() : gate.#direct.send?.apply(gate.#res, args);
    },
  };

  /** Makes way for the response of an error handler, unless the handler's own came first; says whether it did. */
  forget(): boolean {
    if (this.#state !== 'unasked') return false;
    this.#waiting = [];
    return true;
  }

  #end(args: unknown[]): unknown {
    if (this.#complete) return this.#drop();
    if (this.#state !== 'open' && typeof args[0] !== 'function') heads.checkBody(args[0] ?? '');
    return this.#start('end', args);
  }

  #write(args: unknown[]): unknown {
    if (this.#state === 'open') return this.#pass('write', args);
    if (this.#complete) return this.#drop();
    heads.checkBody(args[0]);
    this.#start('write', args);
    // The writer of what is discarded need not wait for `drain`.
    return this.#isDiscarding;
  }

  /** Sends nothing by itself, so it decides nothing; but once it has run there is no way back. */
  #writeHead(args: unknown[]): unknown {
    if (this.#state === 'open') return this.#pass('writeHead', args);
    const res = this.#res;
    if (this.#complete) return this.#drop();
    if (this.#state === 'asked') throw heads.headersSent();
    if (this.#waiting.length > 0) {
      // A middleware that compresses the body behind this gate writes the head before each part, until one has left.
      if (args.length === 1 && args[0] === res.statusCode) return res;
      throw heads.headersSent();
    }
    if (!this.#keeper.admits(Math.trunc(args[0] as number))) return this.#discard('writeHead');
    heads.dryRun(res, 'writeHead', args);
    res.statusCode = args[0] as number;
    this.#waiting.push(() => this.#call('writeHead', args));
    return res;
  }

  /** A middleware around this gate may keep the listeners for `drain` for a stream that is there from the first byte on. */
  #on(args: unknown[]): unknown {
    if (args[0] !== 'drain' || this.#state === 'open') return this.#call('on', args);
    const before = this.#res.listenerCount('drain');
    const result = this.#call('on', args);
    if (this.#res.listenerCount('drain') === before) (this.#kept ??= []).push(args[1] as () => unknown);
    return result;
  }

  #start(method: Exclude<heads.Sender, 'writeHead'>, args: unknown[]): unknown {
    const res = this.#res;
    const isFirst = this.#state === 'unasked';
    if (isFirst && !this.#keeper.admits(Math.trunc(res.statusCode))) return this.#discard(method);
    this.#isDiscarding = false;
    // Before the decision, nothing else waits than a head.
    if (isFirst && this.#waiting.length === 0) heads.checkHead(res, method, args);
    this.#complete = method === 'end';
    if (this.#state === 'open') return this.#call(method, args);
    if (isFirst) this.#keeper.onFirstResponse();
    this.#waiting.push(() => this.#call(method, args));
    if (isFirst) {
      this.#state = 'asked';
      const head = heads.readHead(res);
      this.#keeper.decide(head.status).then(
        () => this.#release(head),
        (error: unknown) => this.#refuse(error),
      );
    }
    // To the handler and its error handler, a part of a body that waits counts as sent.
    pretendSent(res, !this.#complete);
    return res;
  }

  #release(head: heads.Head): void {
    this.#open();
    try {
      heads.restoreHead(this.#res, head);
      const results = this.#waiting.map((step) => step());
      if (!this.#complete && results.at(-1) !== false) this.#goOn();
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** The writer of the body waits for this. */
  #goOn(): void {
    const reached = this.#res.rawListeners('drain');
    this.#res.emit('drain');
    for (const listener of this.#kept ?? []) if (!reached.includes(listener)) listener.call(this.#res);
  }

  /** The next response is the first again, unless the head has left. */
  #refuse(error: unknown): void {
    const res = this.#res;
    this.#open();
    if (!res.headersSent) {
      this.#state = 'unasked';
      this.#isDiscarding = !this.#complete;
      this.#waiting = [];
      heads.clearHead(res, this.#isDiscarding);
    }
    this.#complete = false;
    this.#keeper.onRefused(error);
  }

  /** Nothing of this response leaves; the next one finds no trace of it. */
  #discard(method: heads.Sender): ServerResponse {
    this.#isDiscarding = method !== 'end';
    this.#waiting = [];
    heads.clearHead(this.#res, this.#isDiscarding);
    this.#keeper.onDiscarded(!this.#isDiscarding);
    return this.#res;
  }

  #open(): void {
    if (this.#state !== 'open') pretendSent(this.#res, false);
    this.#state = 'open';
  }

  #drop(): ServerResponse {
    this.#keeper.onSecondResponse();
    return this.#res;
  }

  /** After `end()`, Node would crash the process, or throw where nobody catches. During it, `end()` itself may be calling. */
  #pass(name: 'write' | 'writeHead', args: unknown[]): unknown {
    return this.#res.writableEnded ? this.#drop() : this.#call(name, args);
  }

  #call(name: heads.Sender | 'on', args: unknown[]): unknown {
    return this.#direct[name].apply(this.#res, args);
  }
}
