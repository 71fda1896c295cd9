import { Container, MetadataInjector, onStart, type Services } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import type { TransactionCheck } from '@ambit/transaction/check';
import { AuditLogger, type IAuditLogger, type IRequestContext, RequestContext } from './audit.js';
import {
  type Config,
  ConfigService,
  type EventsConfig,
  type IConfigService,
  type ReplicatedConfig,
  replicatedDatabase,
} from './config/config.js';
import { createPool, dialectOf } from './database/pool.js';
import { prepareDatabase } from './database/prepare.js';
import { createTransactionCheck } from './database/transaction-check.js';
import { eventFeature } from './events/feature.js';
import { Health } from './health.js';
import { ExpiredKeys } from './idempotency/expired-keys.js';
import { KeyLock, LockedKeys } from './idempotency/key-lock.js';
import { ResponseStore } from './idempotency/response-store.js';
import { alias, build, feature, make, of, registered, value } from './lifetimes.js';
import { inspectedOutput } from './logging/inspected-output.js';
import { LogOutput } from './logging/log-output.js';
import { createLogger, type ILogger } from './logging/logger.js';
import { type IInventoryService, InventoryService } from './orders/inventory-service.js';
import { type IOrderRepository, OrderRepository } from './orders/order-repository.js';
import { replicaFeature } from './replicas/feature.js';
import { type IUserRepository, UserRepository } from './users/user-repository.js';

declare module '@ambit/container' {
  interface ServiceMap extends Services<ReturnType<typeof withEventsAndReplicas>> {}
}

/** What the hosts register directly on the scopes that they open. */
const hosts = feature('hosts', {
  IRequestSignal: registered('request').as<AbortSignal>(),
  IConnection: registered('transaction').as<IConnection>(),
});

/** The scopes that the hosts open. */
export const SCOPES = build(hosts).scopes;

const infrastructure = (config: Config, log: ILogger) =>
  feature('infrastructure', {
    IConfigService: value<IConfigService>(new ConfigService(config)),
    ILogger: value(log),
    ISqlDialect: make('application', () => dialectOf(config.database)),
    ITransactionCheck: make('application', (logger: ILogger) => createTransactionCheck(config, logger), ['ILogger']),
    IDatabasePool: make('application', (check: TransactionCheck) => check.pool(createPool(config.database)), [
      'ITransactionCheck',
    ])
      .pipe(onStart((pool) => prepareDatabase(pool, config, log)))
      .as<IDatabasePool>(),
    IHealth: of('application', Health, ['IDatabasePool', 'ILogger']),
    IRequestContext: of('request', RequestContext).as<IRequestContext>(),
    IAuditLogger: of('request', AuditLogger, ['ILogger', 'IRequestContext']).as<IAuditLogger>(),
  });

const idempotency = feature('idempotency', {
  ILockedKeys: of('application', LockedKeys),
  IExpiredKeys: of('application', ExpiredKeys, ['IDatabasePool', 'ILogger']).pipe(onStart((keys) => keys.start())),
  IKeyLock: of('request', KeyLock, ['ILockedKeys', 'IRequestContext']),
  IResponseStore: of('transaction', ResponseStore, ['IConnection', 'ISqlDialect', 'IRequestContext', 'IKeyLock']),
});

const users = feature('users', {
  IQueryable: alias({ request: 'IDatabasePool', transaction: 'IConnection' }),
  IUserRepository: of(['request', 'transaction'], UserRepository, ['IQueryable']).as<IUserRepository>(),
});

const orders = feature('orders', {
  IOrderRepository: of('transaction', OrderRepository, [
    'IConnection',
    'IRequestContext',
    'ISqlDialect',
  ]).as<IOrderRepository>(),
  IInventoryService: of('transaction', InventoryService, [
    'IConnection',
    'IRequestContext',
    'ISqlDialect',
  ]).as<IInventoryService>(),
});

const always = (config: Config, log: ILogger) =>
  [hosts, infrastructure(config, log), idempotency, users, orders] as const;

const withEvents = (config: Config, log: ILogger, events: EventsConfig) =>
  build(...always(config, log), eventFeature(config, events));

const withReplicas = (config: Config, log: ILogger, database: ReplicatedConfig) =>
  build(...always(config, log), replicaFeature(database));

const withEventsAndReplicas = (config: Config, log: ILogger, events: EventsConfig, database: ReplicatedConfig) =>
  build(...always(config, log), eventFeature(config, events), replicaFeature(database));

/** Only what is configured is in the graph. */
function graph(config: Config, log: ILogger): Pick<ReturnType<typeof withEvents>, 'registrations'> {
  const { events } = config;
  const database = replicatedDatabase(config);
  if (events && database) return withEventsAndReplicas(config, log, events, database);
  if (events) return withEvents(config, log, events);
  return database ? withReplicas(config, log, database) : build(...always(config, log));
}

/**
 * The whole object graph. The compiler reports missing keys, misfits and captive dependencies; verified at start-up, it reports circular
 * dependencies, too.
 */
export function createAppContainer(config: Config, output = new LogOutput()): Container {
  const log = createLogger(config.logLevel, config.inspector?.lines ? inspectedOutput(output) : output);
  const { registrations } = graph(config, log);
  const container = new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(...registrations);
  verify(container, ...SCOPES);
  return container;
}
