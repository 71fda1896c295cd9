import type { FakeFault } from '@ambit/transaction/testing';

/** A database on which one thing fails. */
export const fails = (at: string, kind: FakeFault['kind'] = 'refused') => ({
  faultAt: (point: string): FakeFault => ({ ms: 0, kind: point === at ? kind : 'none' }),
});
