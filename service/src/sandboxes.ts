import type { IContainer } from '@ambit/container';
import type { Sandboxes } from '@ambit/transaction/testing';
import type { Config } from './config/config.js';
import { LockedKeys } from './idempotency/key-lock.js';

/** For a service that is started for tests. Everything else that a request changes is in the database. */
export async function sandboxesOf({ sandbox }: Config, container: IContainer): Promise<Sandboxes | undefined> {
  if (!sandbox) return undefined;
  const testing = await import('@ambit/transaction/testing');
  return new testing.Sandboxes(container, { register: giveOwnKeys });
}

function giveOwnKeys(scope: IContainer): void {
  const keys = new LockedKeys();
  scope.register('ILockedKeys', () => keys);
}
