import { Container, type IContainer } from '@ambit/container';
import { Inspector } from '@ambit/inspector';
import { instrument } from '@ambit/opentelemetry';
import type { DatabasePool, IDatabasePool } from '@ambit/transaction';
import { transactionCheck } from '@ambit/transaction/check';
import { createReplicatedPool } from '@ambit/transaction/replicas';
import { TenantScopes } from '@ambit/transaction/tenants';
import { sandbox } from '@ambit/transaction/testing';

/** The pool as the application has it, and the scope that its transactions begin in. */
interface Surrounded {
  readonly pool: IDatabasePool;
  readonly scope: IContainer;
  /** The pool below stays open. */
  remove(): Promise<void>;
}

type Surround = (pool: DatabasePool) => Promise<Surrounded> | Surrounded;

/** Whatever an application can put around its pool, or observe it with. None of it may change what the application sees. */
export const AROUND_POOLS: Readonly<Record<string, Surround>> = {
  nothing: (pool) => inScope(pool),
  'the transaction check': (pool) => {
    const { pool: checked, check } = withCheck(pool);
    return inScope(checked, () => check.stop());
  },
  'a sandbox': async (pool) => {
    const box = await sandbox(pool);
    return inScope(box, () => box.rollback());
  },
  replicas: (pool) => inScope(createReplicatedPool({ primary: pool, replicas: [pool] })),
  'stale reads': (pool) => inScope(createReplicatedPool({ primary: pool, replicas: [pool], staleReads: true })),
  tenants: async (pool) => {
    const tenants = new TenantScopes(new Container(), {
      register: (scope) => void scope.register('IDatabasePool', () => pool),
    });
    return { pool, scope: await tenants.scopeOf('acme'), remove: () => tenants.dispose() };
  },
  telemetry: (pool) => {
    const instrumentation = instrument({ pool });
    return inScope(pool, () => instrumentation.stop());
  },
  'the inspector': (pool) => inspected(pool),
  'all of them': (pool) => {
    const instrumentation = instrument({ pool });
    const { pool: checked, check } = withCheck(createReplicatedPool({ primary: pool, replicas: [pool] }));
    return inspected(checked, () => {
      check.stop();
      instrumentation.stop();
    });
  },
};

function withCheck<P extends IDatabasePool>(
  pool: P,
): { readonly pool: P; readonly check: Disposable & { stop(): void } } {
  // Nothing is refused: how long a transaction is idle goes by how busy the machine is.
  const check = transactionCheck({ gapMs: 60_000, report: () => undefined });
  return { pool: check.pool(pool), check };
}

function inScope(pool: IDatabasePool, remove: () => unknown = () => undefined): Surrounded {
  const scope = new Container({ tags: ['application'] });
  scope.register('IDatabasePool', () => pool);
  return {
    pool,
    scope,
    remove: async () => {
      await remove();
      await scope.dispose();
    },
  };
}

function inspected(pool: IDatabasePool, remove?: () => unknown): Surrounded {
  const surrounded = inScope(pool, remove);
  void new Inspector({ container: surrounded.scope as Container, enabled: true, always: true });
  return surrounded;
}
