import type { Response } from 'express';
import { checkAnswer, clearHead, type Head, headersSent, readHead, restoreHead } from './answer.js';

export interface GateKeeper {
  /** Called before `decide`, while `forget()` still makes way for this answer. */
  readonly onFirstAnswer: () => void;
  /** Resolves when the answer may go out, rejects with the error to answer instead. Asked once, at the first answer. */
  readonly decide: (status: number) => Promise<void>;
  readonly onRefused: (error: unknown) => void;
  readonly onSecondAnswer: () => void;
}

type Methods = Record<'end' | 'flushHeaders' | 'send' | 'write' | 'writeHead', (...args: unknown[]) => unknown>;

const GATE = Symbol('ambit.gate');

interface GatedResponse {
  readonly [GATE]: Gate;
}

/**
 * Holds an answer back until it is decided whether it may go out. Whatever would send the first byte starts the
 * decision; it and all that follows wait, and then happen, in order and with the head as it was at that moment.
 *
 * Our methods stay on the response, since others may have wrapped them; once the gate is open they only pass on. They
 * are properties of the response and not of a prototype, which Express exchanges on the way into a mounted application.
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
    const { end, flushHeaders, send, write, writeHead } = res as unknown as Methods;
    this.#direct = { end, flushHeaders, send, write, writeHead };
    Object.assign(res, { [GATE]: this }, Gate.#methods);
  }

  /** The same functions for every response: with functions of its own, each would be of a shape of its own to V8. */
  static readonly #methods: Methods & ThisType<GatedResponse> = {
    end(...args) {
      return this[GATE].#end(args);
    },
    flushHeaders() {
      return this[GATE].#flushHeaders();
    },
    send(...args) {
      return this[GATE].#send(args);
    },
    write(...args) {
      return this[GATE].#write(args);
    },
    writeHead(...args) {
      return this[GATE].#writeHead(args);
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

  #flushHeaders(): unknown {
    return this.#complete ? undefined : this.#start(() => this.#call('flushHeaders', []));
  }

  /** Sends nothing by itself, so it decides nothing; but once it has run there is no way back. */
  #writeHead(args: unknown[]): unknown {
    if (this.#state === 'open') return this.#call('writeHead', args);
    if (this.#complete) return this.#drop();
    if (this.#state === 'asked') throw headersSent();
    checkAnswer(args[0] as number, undefined);
    this.#res.statusCode = args[0] as number;
    this.#waiting.push(() => this.#call('writeHead', args));
    return this.#res;
  }

  /** Behind `json()` as well. It would change the head, and so throw, where the first answer has left already. */
  #send(args: unknown[]): unknown {
    return this.#complete ? this.#drop() : this.#call('send', args);
  }

  #start(step: () => unknown): Response {
    const res = this.#res;
    if (this.#state === 'open') {
      step();
      return res;
    }
    const isFirst = this.#state === 'unasked';
    if (isFirst) this.#keeper.onFirstAnswer();
    this.#waiting.push(step);
    if (isFirst) {
      this.#state = 'asked';
      const head = readHead(res);
      this.#keeper.decide(res.statusCode).then(
        () => this.#release(head),
        (error: unknown) => this.#refuse(error),
      );
    }
    // Part of a body waits: as far as the handler and its error handler can tell, it is on its way.
    pretendSent(res, !this.#complete);
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
    if (this.#state !== 'open') pretendSent(this.#res, false);
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

/** Where Node keeps the head once it is sent: `headersSent` looks there, and so does whatever changes the head. */
function pretendSent(res: Response, pretend: boolean): void {
  (res as Response & { _header: string | null })._header = pretend ? 'held back' : null;
}
