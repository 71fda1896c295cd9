import { checkOneOf } from '../core/options.js';
import { isTransactionError, TransactionError } from '../core/errors.js';
import type { TransactionState } from '../transaction/outcome.js';

/**
 * What a run does where a transaction is open already: `nested` is a savepoint of it, `required`, `supports` and `mandatory` join
 * it, `requires-new` begins a second one, `not-supported` runs outside of it, and `never` is refused. Where none is open,
 * `mandatory` is refused, `supports`, `not-supported` and `never` run without one, and the others begin one.
 */
export type Propagation = 'nested' | 'required' | 'requires-new' | 'supports' | 'not-supported' | 'mandatory' | 'never';

/** How the work is run. `outside`: as no part of a transaction that is open, in the scope that the one around it began in. */
export type Way = 'begin' | 'savepoint' | 'join' | 'without' | 'outside';

const WAYS: Readonly<Record<Propagation, { readonly inside: Way | 'refuse'; readonly outside: Way | 'refuse' }>> = {
  nested: { inside: 'savepoint', outside: 'begin' },
  required: { inside: 'join', outside: 'begin' },
  'requires-new': { inside: 'begin', outside: 'begin' },
  supports: { inside: 'join', outside: 'without' },
  'not-supported': { inside: 'outside', outside: 'outside' },
  mandatory: { inside: 'join', outside: 'refuse' },
  never: { inside: 'refuse', outside: 'without' },
};

/** Whether the run says that it is no part of a transaction that is open. */
export function isApart(propagation: Propagation): boolean {
  return propagation === 'requires-new' || propagation === 'not-supported';
}

export function isOpen(state: TransactionState | undefined): boolean {
  return state === 'acquired' || state === 'open';
}

/** How the work is run, given the state of the transaction around it. Throws where the propagation does not allow it. */
export function wayOf(propagation: Propagation, around: TransactionState | undefined): Way {
  if (!Object.hasOwn(WAYS, propagation)) checkOneOf('propagation', propagation, Object.keys(WAYS));
  // In the scope of a completed transaction only work that wants none is outside: all other work would be stored by nobody.
  const isInside = propagation === 'never' ? isOpen(around) : around !== undefined;
  const way = WAYS[propagation][isInside ? 'inside' : 'outside'];
  if (way !== 'refuse') return way;
  const where = isInside ? 'inside of an open transaction' : 'without an open transaction';
  throw new TransactionError('AMBIT_TX_PROPAGATION', `A run with the propagation ${propagation} was started ${where}`);
}

const TIMED_OUT: ReadonlySet<string> = new Set(['AMBIT_TX_ACQUIRE_TIMEOUT', 'AMBIT_TX_TIMEOUT']);

/** The error of a run that got no second connection: the one that it holds may be what others wait for. */
export function whileHoldingOne(error: unknown): unknown {
  if (!isTransactionError(error) || !TIMED_OUT.has(error.code)) return error;
  const what =
    'A requires-new run waited for a second connection while the transaction around it holds one. Where every connection is held by a transaction that waits for another one, the pool is in a deadlock';
  return new TransactionError(error.code, what, { cause: error });
}
