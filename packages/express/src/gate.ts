import type { Response } from 'express';
import { checkAnswer, clearHead, type Head, headersSent, readHead, restoreHead } from './answer.js';

export interface GateKeeper {
  /** Resolves when the answer may go out, rejects with the error to answer instead. Asked once, at the first answer. */
  readonly decide: (status: number) => Promise<void>;
  readonly onRefused: (error: unknown) => void;
  readonly onSecondAnswer: () => void;
}

type Methods = Record<
  'end' | 'flushHeaders' | 'json' | 'send' | 'setHeader' | 'write' | 'writeHead',
  (...args: unknown[]) => unknown
>;

const GATE = Symbol('ambit.gate');

interface GatedResponse {
  readonly [GATE]: Gate;
}

/**
 * Holds an answer back until it is decided whether it may go out. Whatever would send the first byte starts the
 * decision; it and all that follows wait, and then happen, in order and with the head as it was at that moment.
 *
 * Our methods stay on the response, since others may have wrapped them; once the gate is open they only pass on.
 */
export class Gate {
  readonly #res: Response;
  readonly #keeper: GateKeeper;
  readonly #direct: Methods;
  #waiting: (() => unknown)[] = [];
  #state: 'unasked' | 'asked' | 'open' = 'unasked';
  /** `end()` was called: whatever comes now belongs to a second answer. */
  #complete = false;

  constructor(res: Response, keeper: GateKeeper) {
    this.#res = res;
    this.#keeper = keeper;
    const { end, flushHeaders, json, send, setHeader, write, writeHead } = res as unknown as Methods;
    this.#direct = { end, flushHeaders, json, send, setHeader, write, writeHead };
    Object.assign(res, { [GATE]: this }, Gate.#methods);
    Object.defineProperty(res, 'headersSent', Gate.#headersSent);
  }

  /** The same functions for every response: with functions of its own, each would be of a shape of its own to V8. */
  static readonly #methods: Methods & ThisType<GatedResponse> = {
    end(...args) {
      return this[GATE].#end(args);
    },
    flushHeaders() {
      return this[GATE].#start(() => this[GATE].#call('flushHeaders', []));
    },
    json(...args) {
      return this[GATE].#complete ? this[GATE].#drop() : this[GATE].#call('json', args);
    },
    send(...args) {
      return this[GATE].#complete ? this[GATE].#drop() : this[GATE].#call('send', args);
    },
    setHeader(...args) {
      return this[GATE].#setHeader(args);
    },
    write(...args) {
      return this[GATE].#write(args);
    },
    writeHead(...args) {
      return this[GATE].#writeHead(args);
    },
  };

  static readonly #headersSent: PropertyDescriptor & ThisType<GatedResponse> = {
    configurable: true,
    get() {
      const gate = this[GATE];
      return gate.#isUnderWay() || Reflect.get(Object.getPrototypeOf(gate.#res) as object, 'headersSent', gate.#res);
    },
  };

  /** Makes way for the answer of an error handler, unless the handler's own came first; says whether it did. */
  forget(): boolean {
    if (this.#state !== 'unasked') return false;
    this.#waiting = [];
    return true;
  }

  #end(args: unknown[]): unknown {
    if (this.#complete) return this.#drop();
    if (this.#state !== 'open') checkAnswer(this.#res.statusCode, typeof args[0] === 'function' ? undefined : args[0]);
    this.#complete = true;
    return this.#start(() => this.#call('end', args));
  }

  #write(args: unknown[]): unknown {
    if (this.#state === 'open') return this.#call('write', args);
    if (this.#complete) return this.#drop();
    checkAnswer(this.#res.statusCode, args[0]);
    this.#start(() => this.#call('write', args));
    return false;
  }

  /** Sends nothing by itself, so it decides nothing; but once it has run there is no way back. */
  #writeHead(args: unknown[]): unknown {
    if (this.#state === 'open') return this.#call('writeHead', args);
    if (this.#complete) return this.#drop();
    if (this.#isUnderWay()) throw headersSent();
    checkAnswer(args[0] as number, undefined);
    this.#res.statusCode = args[0] as number;
    this.#waiting.push(() => this.#call('writeHead', args));
    return this.#res;
  }

  #setHeader(args: unknown[]): unknown {
    if (this.#isUnderWay()) throw headersSent();
    return this.#call('setHeader', args);
  }

  /** Part of a body waits: as far as the handler and its error handler can tell, it is on its way. */
  #isUnderWay(): boolean {
    return this.#state === 'asked' && !this.#complete;
  }

  #start(step: () => unknown): Response {
    const res = this.#res;
    if (this.#state === 'open') {
      step();
      return res;
    }
    this.#waiting.push(step);
    if (this.#state === 'asked') return res;
    this.#state = 'asked';
    const head = readHead(res);
    this.#keeper.decide(res.statusCode).then(
      () => this.#release(head),
      (error: unknown) => this.#refuse(error),
    );
    return res;
  }

  #release(head: Head): void {
    this.#open();
    try {
      restoreHead(this.#res, head);
      const results = this.#waiting.map((step) => step());
      // Whoever writes the body was told to wait for this.
      if (!this.#complete && results.at(-1) !== false) this.#res.emit('drain');
    } catch (error) {
      this.#refuse(error);
    }
  }

  #refuse(error: unknown): void {
    this.#open();
    this.#complete = false;
    if (!this.#res.headersSent) clearHead(this.#res);
    this.#keeper.onRefused(error);
  }

  #open(): void {
    this.#state = 'open';
  }

  #drop(): Response {
    this.#keeper.onSecondAnswer();
    return this.#res;
  }

  #call(name: keyof Methods, args: unknown[]): unknown {
    return this.#direct[name].apply(this.#res, args);
  }
}
