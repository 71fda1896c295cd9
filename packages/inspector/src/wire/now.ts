import type { Outcome } from './request.js';

/** How many scopes of one kind; a kind, or box, is written `application > request`. */
export interface KindNow {
  readonly box: string;
  readonly open: number;
  readonly openedPerSecond: number;
  readonly closedPerSecond: number;
}

export interface OpenScope {
  readonly id: number;
  readonly box: string;
  readonly age: number;
  /** It was open before the page was, so it is older than that. */
  readonly atLeast: boolean;
  readonly old: boolean;
  readonly where?: readonly string[];
  readonly request?: number;
}

/** Scopes that leaked, by the place in the code that opened them. */
export interface LeakGroup {
  readonly box: string;
  readonly where: readonly string[];
  readonly open: number;
  /** The age of the oldest. */
  readonly age: number;
  /** The newest requests that it happened to. */
  readonly requests: readonly number[];
}

export interface Now {
  readonly requestsPerSecond: number;
  /** How many of those were recorded. */
  readonly recordedPerSecond: number;
  readonly kinds: readonly KindNow[];
  /** The oldest ones. */
  readonly scopes: readonly OpenScope[];
  readonly leaks: readonly LeakGroup[];
  readonly transactions: Readonly<Record<'open' | Outcome, number>>;
  readonly pool?: { readonly open: number; readonly idle: number; readonly waiting: number };
}
