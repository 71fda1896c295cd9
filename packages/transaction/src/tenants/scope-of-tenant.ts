import type { IContainer } from '@ambit/container';
import type { ScopeOf } from '@ambit/container/work';
import { TransactionError } from '../core/errors.js';
import { report } from '../core/report.js';
import type { TenantSettings } from './options.js';

/** Makes a new scope the tenant's. */
export async function prepareScope<C extends IContainer>(
  { register, start }: TenantSettings<C>,
  scope: ScopeOf<C>,
  tenant: string,
): Promise<void> {
  await register(scope, tenant);
  if (!start) return;
  const starting = scope as { start?: () => Promise<void> };
  if (!starting.start) {
    throw new TransactionError('AMBIT_TX_OPTION', 'start: true needs a container that has a method start()');
  }
  await starting.start();
}

/** Never rejects: nobody who waits is to blame. */
export async function disposeScope<C extends IContainer>(
  { onError }: TenantSettings<C>,
  scope: IContainer,
  tenant: string,
): Promise<void> {
  try {
    await scope.dispose();
  } catch (cause) {
    const error = new TransactionError('AMBIT_TX_SCOPE_FAILED', 'The scope of a tenant failed to dispose', { cause });
    report({ onError: (failure) => onError(failure, tenant) }, error);
  }
}
