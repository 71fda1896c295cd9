import {
  type Binding,
  Container,
  hasTag,
  MetadataInjector,
  onStart,
  Registration,
  scope,
  singleton,
} from '@ambit/container';
import { type ScopeDeclaration, verify } from '@ambit/container/tools';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import type { TransactionCheck } from '@ambit/transaction/check';
import { AuditLogger, type IAuditLogger, type IRequestContext, RequestContext } from './audit.js';
import { type Config, ConfigService, type IConfigService } from './config/config.js';
import type { ISqlDialect } from './database/dialect.js';
import { createPool, dialectOf } from './database/pool.js';
import { prepareDatabase } from './database/prepare.js';
import { createTransactionCheck } from './database/transaction-check.js';
import { eventBindings } from './events/bindings.js';
import { Health } from './health.js';
import { ExpiredKeys } from './idempotency/expired-keys.js';
import { KeyLock, LockedKeys } from './idempotency/key-lock.js';
import { ResponseStore } from './idempotency/response-store.js';
import { LogOutput } from './logging/log-output.js';
import { createLogger, type ILogger } from './logging/logger.js';
import { type IInventoryService, InventoryService } from './orders/inventory-service.js';
import { type IOrderRepository, OrderRepository } from './orders/order-repository.js';
import { type IUserRepository, UserRepository } from './users/user-repository.js';

declare module '@ambit/container' {
  interface ServiceMap {
    IConfigService: IConfigService;
    IDatabasePool: IDatabasePool;
    ITransactionCheck: TransactionCheck;
    ISqlDialect: ISqlDialect;
    ILogger: ILogger;
    IHealth: Health;
    ILockedKeys: LockedKeys;
    IExpiredKeys: ExpiredKeys;
    IRequestContext: IRequestContext;
    IAuditLogger: IAuditLogger;
    IUserRepository: IUserRepository;
    IKeyLock: KeyLock;
    IConnection: IConnection;
    IOrderRepository: IOrderRepository;
    IInventoryService: IInventoryService;
    IResponseStore: ResponseStore;
  }
}

const perRequest = [singleton(), scope(hasTag('request'))] as const;
const perTransaction = [singleton(), scope(hasTag('transaction'))] as const;

const application = (config: Config, log: ILogger): Binding[] => [
  Registration.fromValue(new ConfigService(config)).to('IConfigService'),
  Registration.fromValue(log).to('ILogger'),
  Registration.fromFactory(() => dialectOf(config.database))
    .pipe(singleton())
    .to('ISqlDialect'),
  Registration.fromFactory((logger) => createTransactionCheck(config, logger), ['ILogger'])
    .pipe(singleton())
    .to('ITransactionCheck'),
  Registration.fromFactory((check) => check.pool(createPool(config.database)), ['ITransactionCheck'])
    .pipe(
      singleton(),
      onStart((pool) => prepareDatabase(pool, config, log)),
    )
    .to('IDatabasePool'),
  Registration.fromFactory((pool, logger) => new ExpiredKeys(pool, logger), ['IDatabasePool', 'ILogger'])
    .pipe(
      singleton(),
      onStart((keys) => keys.start()),
    )
    .to('IExpiredKeys'),
  Registration.fromFactory((pool, logger) => new Health(pool, logger), ['IDatabasePool', 'ILogger'])
    .pipe(singleton())
    .to('IHealth'),
  Registration.fromClass(LockedKeys).pipe(singleton()).to('ILockedKeys'),
];

const request = [
  Registration.fromClass(RequestContext)
    .pipe(...perRequest)
    .to('IRequestContext'),
  Registration.fromClass(AuditLogger)
    .pipe(...perRequest)
    .to('IAuditLogger'),
  Registration.fromClass(UserRepository)
    .pipe(...perRequest)
    .to('IUserRepository'),
  Registration.fromClass(KeyLock)
    .pipe(...perRequest)
    .to('IKeyLock'),
];

const transaction = [
  Registration.fromClass(OrderRepository)
    .pipe(...perTransaction)
    .to('IOrderRepository'),
  Registration.fromClass(InventoryService)
    .pipe(...perTransaction)
    .to('IInventoryService'),
  Registration.fromClass(ResponseStore)
    .pipe(...perTransaction)
    .to('IResponseStore'),
  // Within a transaction the same repository uses the transaction's connection.
  Registration.fromFactory((connection) => new UserRepository(connection), ['IConnection'])
    .pipe(...perTransaction)
    .to('IUserRepository'),
];

/** The scopes that the hosts open, and what they register in them. */
export const SCOPES: ScopeDeclaration = {
  tags: ['request'],
  registers: ['IRequestSignal'],
  scopes: [{ tags: ['transaction'], registers: ['IConnection'] }],
};

/** The whole object graph, verified: missing keys, circular and captive dependencies are reported here, all at once. */
export function createAppContainer(config: Config, output = new LogOutput()): Container {
  const container = new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
    ...application(config, createLogger(config.logLevel, output)),
    ...request,
    ...transaction,
    ...(config.events ? eventBindings(config, config.events) : []),
  );
  verify(container, SCOPES);
  return container;
}
