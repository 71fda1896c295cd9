import { type Place, textOf } from './place.js';

/** What the transaction check finds. */
export type FindingKind = 'outside-statement' | 'second-connection' | 'http-request' | 'gap' | 'repeated-statement';

/** What was found at one place of the code. */
export interface Finding {
  /** Which rule it breaks. */
  readonly kind: FindingKind;
  /** One line, for a log. */
  readonly message: string;
  /** The line of the application's own code; undefined where its stack does not lead there. Of a gap: the statement before it. */
  readonly place: Place | undefined;
  /** Of a gap: the statement, or the COMMIT, after it. */
  readonly until: Place | undefined;
  /** Where the transaction was begun. */
  readonly begun: Place | undefined;
  /** `POST /api/orders/:id`, or the requested path where the framework does not say the declared one. */
  readonly route: string | undefined;
  /** The key of the service that ran the code, where the container has published which class it is. */
  readonly key: string | undefined;
  /** The statement, without the values that are written into it. */
  readonly sql: string | undefined;
  /** `GET https://api.example.org/prices`: the HTTP request, without its query. */
  readonly request: string | undefined;
  /** How often it has happened so far. */
  readonly count: number;
}

/** What happened once. */
export interface Occurrence extends Omit<Finding, 'count' | 'message'> {
  /** The first half of the message. */
  readonly what: string;
}

/** Where it happened, and on whose behalf. */
export function messageOf({ what, place, until, begun, key, route }: Occurrence): string {
  const where = [place && `at ${textOf(place)}`, until && `until ${textOf(until)}`].filter(Boolean).join(' ');
  const known = [key, route].filter((name) => name !== undefined).join(', ');
  const on = known && ` (${known})`;
  const since = begun ? `, in the transaction begun at ${textOf(begun)}` : '';
  return `${what}${where && `, ${where}`}${on}${since} [AMBIT_TX_CHECK, see docs/errors.md#ambit_tx_check]`;
}

/**
 * The error with which the transaction check refuses what it finds, in the mode `throw`.
 *
 * @example
 * ```ts
 * import { TransactionCheckError } from '@ambit/transaction/check';
 *
 * const linesOf = (error: unknown): (string | undefined)[] =>
 *   error instanceof TransactionCheckError ? error.findings.map(({ place }) => place && `${place.file}:${place.line}`) : [];
 * ```
 */
export class TransactionCheckError extends Error {
  /** Always `TransactionCheckError`. */
  override readonly name = 'TransactionCheckError';
  /** Always `AMBIT_TX_CHECK`. */
  readonly code = 'AMBIT_TX_CHECK';
  /** Invalid transaction state: a COMMIT that is refused with it has stored nothing. */
  readonly sqlState = '25000';
  /** What it refuses; from `assertNone()`, everything that was found. */
  readonly findings: readonly Finding[];

  /** @param findings - what was found; the message has a line for each */
  constructor(findings: readonly Finding[]) {
    super(findings.map(({ message }) => message).join('\n'));
    this.findings = findings;
  }
}
