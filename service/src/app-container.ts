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
import { AuditLogger, type IAuditLogger } from './audit/audit-logger.js';
import { type IRequestContext, RequestContext } from './audit/request-context.js';
import { type Config, ConfigService, type IConfigService } from './config/config.js';
import type { ISqlDialect } from './database/dialect.js';
import { createPool, dialectOf } from './database/pool.js';
import { prepareDatabase } from './database/prepare.js';
import { Health } from './health.js';
import { AnswerStore } from './idempotency/answer-store.js';
import { ExpiredKeys } from './idempotency/expired-keys.js';
import { KeyHold, KeysInUse } from './idempotency/keys-in-use.js';
import { LogOutput } from './logging/log-output.js';
import { createLogger, type ILogger } from './logging/logger.js';
import { type IInventoryService, InventoryService } from './orders/inventory-service.js';
import { type IOrderRepository, OrderRepository } from './orders/order-repository.js';
import { type IUserRepository, UserRepository } from './users/user-repository.js';

declare module '@ambit/container' {
  interface ServiceMap {
    IConfigService: IConfigService;
    IDatabasePool: IDatabasePool;
    ISqlDialect: ISqlDialect;
    ILogger: ILogger;
    IHealth: Health;
    IKeysInUse: KeysInUse;
    IExpiredKeys: ExpiredKeys;
    IRequestContext: IRequestContext;
    IAuditLogger: IAuditLogger;
    IUserRepository: IUserRepository;
    IKeyHold: KeyHold;
    IConnection: IConnection;
    IOrderRepository: IOrderRepository;
    IInventoryService: IInventoryService;
    IAnswerStore: AnswerStore;
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
  Registration.fromFactory(() => createPool(config.database))
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
  Registration.fromClass(KeysInUse).pipe(singleton()).to('IKeysInUse'),
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
  Registration.fromClass(KeyHold)
    .pipe(...perRequest)
    .to('IKeyHold'),
];

const transaction = [
  Registration.fromClass(OrderRepository)
    .pipe(...perTransaction)
    .to('IOrderRepository'),
  Registration.fromClass(InventoryService)
    .pipe(...perTransaction)
    .to('IInventoryService'),
  Registration.fromClass(AnswerStore)
    .pipe(...perTransaction)
    .to('IAnswerStore'),
  // Inside of a transaction the same repository works on the transaction's connection.
  Registration.fromFactory((connection) => new UserRepository(connection), ['IConnection'])
    .pipe(...perTransaction)
    .to('IUserRepository'),
];

/** The scopes the hosts open, and what they register there. */
export const SCOPES: ScopeDeclaration = {
  tags: ['request'],
  registers: ['IRequestSignal'],
  scopes: [{ tags: ['transaction'], registers: ['IConnection'] }],
};

/** The whole object graph, checked: whatever is missing, circular or held too long is said here, all at once. */
export function createAppContainer(config: Config, output = new LogOutput()): Container {
  const container = new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
    ...application(config, createLogger(config.logLevel, output)),
    ...request,
    ...transaction,
  );
  verify(container, SCOPES);
  return container;
}
