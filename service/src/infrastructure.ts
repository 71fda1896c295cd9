import { lifetimes, onStart } from '@ambit/container';
import { createIdempotency, type Idempotency } from '@ambit/idempotency';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { type TransactionCheck, transactionCheck } from '@ambit/transaction/check';
import type { Config, IConfigService } from './config/config.js';
import type { ISqlDialect } from './database/engine.js';
import { engineOf } from './database/engines.js';
import { prepareDatabase } from './database/migrate.js';
import { Health } from './health.js';
import { type IRequestContext, RequestContext } from './ids.js';
import { AuditLogger, type IAuditLogger, type ILogger } from './logging/logger.js';

/** The service's scopes, the outermost first. */
const scopes = lifetimes('application', 'request', 'transaction');
/** They make the entries of its graph. */
export const { of, make, alias, feature, when, build } = scopes;

/** The scopes that hosts open have these from the start. */
export const hosts = feature('hosts', {
  IRequestSignal: scopes.registered('request').as<AbortSignal>(),
  IConnection: scopes.registered('transaction').as<IConnection>(),
});

/** No request of the service holds a transaction for so long without a statement, even on a machine that is busy. */
const GAP_MS = 1000;

/** Checks the use of transactions where `TRANSACTION_CHECK` asks for it; otherwise it does nothing. */
export function createTransactionCheck(
  { transactionCheck: mode }: Config,
  logger: ILogger,
  gapMs = GAP_MS,
): TransactionCheck {
  return transactionCheck({
    enabled: mode !== '0',
    mode: mode === 'throw' ? 'throw' : 'report',
    gapMs,
    report: ({ message: msg, ...finding }) => logger.warn({ msg, finding }),
  });
}

/** They are kept for a day. */
export function createKeys(pool: IDatabasePool, { name: dialect }: ISqlDialect, logger: ILogger): Idempotency {
  const msg = 'Expired idempotency keys were not deleted; the next attempt is in an hour';
  return createIdempotency(pool, { dialect, documentation: '/docs', onError: (err) => logger.warn({ msg, err }) });
}

/** Every part of the service uses these. */
export function infrastructure(config: Config, log: ILogger) {
  const engine = engineOf(config.database);
  return feature('infrastructure', {
    IConfigService: scopes.value<IConfigService>({ get: (name) => config[name] }),
    ILogger: scopes.value(log),
    ISqlDialect: scopes.value(engine.dialect),
    ITransactionCheck: make('application', (logger: ILogger) => createTransactionCheck(config, logger), ['ILogger']),
    IDatabasePool: make('application', (check: TransactionCheck) => check.pool(engine.createPool()), [
      'ITransactionCheck',
    ])
      .pipe(onStart((pool) => prepareDatabase(pool, engine, config, log)))
      .as<IDatabasePool>(),
    IIdempotency: make('application', createKeys, ['IDatabasePool', 'ISqlDialect', 'ILogger']).pipe(
      onStart((keys) => keys.start()),
    ),
    IHealth: of('application', Health, ['IDatabasePool', 'ILogger']),
    IRequestContext: of('request', RequestContext).as<IRequestContext>(),
    IAuditLogger: of('request', AuditLogger, ['ILogger', 'IRequestContext']).as<IAuditLogger>(),
  });
}
