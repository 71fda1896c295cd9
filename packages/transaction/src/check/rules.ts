import type { Contexts } from './contexts.js';
import type { FindingKind, Occurrence, TransactionCheckError } from './finding.js';
import type { Findings } from './findings.js';
import { Hold } from './hold.js';
import type { CheckSettings } from './options.js';
import { CallStack } from './place.js';
import type { ServiceKeys } from './service-keys.js';
import { shown } from './tally.js';

interface Parts {
  readonly kind: FindingKind;
  readonly what: string;
  /** Default: where it is found. */
  readonly stack?: CallStack | undefined;
  readonly hold?: Hold | undefined;
  readonly until?: CallStack;
  readonly sql?: string;
  readonly request?: string;
}

type Refusal = TransactionCheckError | undefined;

interface RefusedRequest {
  readonly refusal: TransactionCheckError;
  /** The connection of the open transaction. */
  readonly hold: Hold;
}

/** What the check looks for. Each method returns the error to refuse it with, where there is one. */
export class Rules {
  readonly #settings: CheckSettings;
  readonly #contexts: Contexts;
  readonly #keys: ServiceKeys;
  readonly #findings: Findings;

  constructor(settings: CheckSettings, contexts: Contexts, keys: ServiceKeys, findings: Findings) {
    this.#settings = settings;
    this.#contexts = contexts;
    this.#keys = keys;
    this.#findings = findings;
  }

  get isInTransaction(): boolean {
    return this.#contexts.openHold !== undefined;
  }

  /** A connection is asked for; from now on the context holds it, unless that is refused. */
  acquire(): Hold | TransactionCheckError {
    const stack = new CallStack();
    const held = this.#contexts.openHold;
    const refusal = held && this.#find({ kind: 'second-connection', what: SECOND, stack, hold: held });
    if (refusal) return refusal;
    const hold = new Hold(stack, this.#contexts.current?.request);
    this.#contexts.enter(hold);
    return hold;
  }

  /** A statement on any connection of the pool. */
  statementOnPool(sql: string): Refusal {
    const hold = this.#contexts.openHold;
    if (hold) return this.#outside('the pool', sql, hold);
    return this.#repeated(sql);
  }

  statement(hold: Hold, sql: string, stack: CallStack): Refusal {
    const held = this.#contexts.openHold;
    if (held !== hold && !(hold.isOpen && this.#contexts.isIn(hold))) {
      if (held) return this.#outside('another connection', sql, held);
      // A function that was called has begun the transaction, and its caller goes on in it.
      if (hold.isOpen) this.#contexts.enter(hold);
    }
    this.quiet(hold, stack);
    return this.#repeated(sql, { stack, hold });
  }

  /** Called before the statement, the COMMIT or the ROLLBACK that follows a gap. */
  quiet(hold: Hold, until?: CallStack): void {
    const ms = hold.quietFor(this.#settings.clock.now());
    if (ms <= this.#settings.gapMs) return;
    const what = `A transaction was open for ${Math.round(ms)} ms without a statement`;
    const refusal = this.#find({ kind: 'gap', what, stack: hold.last, until: until ?? new CallStack(), hold });
    if (refusal) hold.failures.push(refusal);
  }

  /** An HTTP request that the running code sends, or that the code of `stack` has sent. */
  httpRequest(request: string, stack?: CallStack): RefusedRequest | undefined {
    const hold = this.#contexts.openHold;
    if (!hold) return undefined;
    const what = `An HTTP request was sent while a transaction was open, ${request}`;
    const refusal = this.#find({ kind: 'http-request', what, stack, hold, request });
    return refusal && { refusal, hold };
  }

  #outside(where: string, sql: string, hold: Hold): Refusal {
    const what = `A statement ran on ${where} while a transaction was open, ${shown(sql)}`;
    return this.#find({ kind: 'outside-statement', what, hold, sql });
  }

  #repeated(sql: string, at: Pick<Parts, 'hold' | 'stack'> = {}): Refusal {
    const { hold } = at;
    const request = hold ? hold.request : this.#contexts.current?.request;
    const inRequest = request?.tally.add(sql) ?? 0;
    const inTransaction = hold?.tally.add(sql) ?? 0;
    const times = Math.max(inRequest, inTransaction);
    if (times <= this.#settings.repeats) return undefined;
    const unit = inTransaction === times ? 'transaction' : 'request';
    const what = `The same statement ran ${times} times in one ${unit}, ${shown(sql)}`;
    return this.#find({ kind: 'repeated-statement', what, sql, ...at });
  }

  #find({ kind, what, stack = new CallStack(), hold, until, sql, request }: Parts): Refusal {
    if (this.#contexts.isUnchecked) return undefined;
    const occurrence: Occurrence = {
      kind,
      what,
      place: stack.place,
      until: until?.place,
      begun: hold?.begun.place,
      route: (this.#contexts.current?.request ?? hold?.request)?.route,
      key: this.#keys.of(stack.names),
      sql: sql === undefined ? undefined : shown(sql),
      request,
    };
    return this.#findings.add(occurrence);
  }
}

const SECOND = 'A second connection was asked for while a transaction was open on the first';
