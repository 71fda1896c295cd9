import type { IContainer } from '@ambit/container';
import type { ScopeOf } from '@ambit/container/work';
import { type Clock, systemClock } from '../clock.js';
import { type TransactionError, warn } from '../errors.js';
import { checkBoolean, checkClock, checkCount, checkFunction, checkTime, given } from '../options.js';

/** The needs of a tenant's scope, how many may be open, and for how long. */
export interface TenantScopesOptions<C extends IContainer = IContainer> {
  /**
   * Registers what the scope of this tenant needs, such as its name, before anything is resolved from it. It may be async. When
   * it fails, nothing is kept: so it refuses names that are no tenant's.
   */
  readonly register: (scope: ScopeOf<C>, tenant: string) => unknown;
  /** The tags of a tenant's scope. Default `['tenant']`. */
  readonly tags?: readonly string[];
  /** True if `onStart` of what is registered for the tenant runs before its first request. Default false. */
  readonly start?: boolean;
  /** The number of tenants that may be open at a time. Default 100. */
  readonly capacity?: number;
  /** After how long without a use the scope of a tenant is disposed. Default 60 s; `Infinity` for never. */
  readonly idleTimeoutMs?: number;
  /** The time that a caller waits while all open tenants are in use. Default 5 s. */
  readonly acquireTimeoutMs?: number;
  /** The number of tenants that may wait to be opened; the next is refused at once. Default 1000. */
  readonly maxWaiting?: number;
  /** Called when the scope of a tenant failed to dispose. Default: a process warning. */
  readonly onError?: (error: TransactionError, tenant: string) => void;
  /** Time, for tests. Default: `systemClock`. */
  readonly clock?: Clock;
}

const DEFAULTS = {
  tags: ['tenant'] as readonly string[],
  start: false,
  capacity: 100,
  idleTimeoutMs: 60_000,
  acquireTimeoutMs: 5000,
  maxWaiting: 1000,
  onError: warn as (error: TransactionError, tenant: string) => void,
  clock: systemClock,
};

export type TenantSettings<C extends IContainer> = Required<TenantScopesOptions<C>>;

export function readTenantOptions<C extends IContainer>(options: TenantScopesOptions<C>): TenantSettings<C> {
  const { register } = options;
  checkFunction('register', register, { required: true });
  checkFunction('onError', options.onError);
  checkBoolean('start', options.start);
  checkCount('capacity', options.capacity, 1);
  checkCount('maxWaiting', options.maxWaiting, 0);
  checkTime('idleTimeoutMs', options.idleTimeoutMs);
  checkTime('acquireTimeoutMs', options.acquireTimeoutMs);
  checkClock(options.clock);
  return { ...DEFAULTS, ...given<Omit<TenantScopesOptions<C>, 'register'>>(options), register };
}
