import { type IContainer, onStart } from '@ambit/container';
import { afterCommit, type IConnection, type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { createOutbox, type Outbox, type Relay } from '@ambit/outbox';
import type { IRequestContext } from '../ids.js';
import type { Config, EventsConfig } from '../config/config.js';
import type { ISqlDialect } from '../database/engine.js';
import { feature, hosts, infrastructure, make, of, when } from '../infrastructure.js';
import type { ILogger } from '../logging/logger.js';
import { type NewOrder, type Order, orderFeature, OrderRepository } from '../orders/orders.js';
import { type NewUser, transactionOptions, type User, userFeature, UserRepository } from '../users/users.js';
import { EventSender } from './sender.js';

/** Calls back when the transaction is committed. */
export type AfterCommit = (act: () => void) => void;

/** One per transaction: stores what happened in it, and lets the relay look for it after COMMIT. */
export class TransactionEvents {
  #isFirst = true;

  constructor(
    private readonly outbox: Outbox,
    private readonly relay: Relay,
    private readonly connection: IConnection,
    private readonly onCommit: AfterCommit,
  ) {}

  /** The id of what it is about is the key: what happens to one order or user is sent in order. */
  async publish(topic: string, about: { readonly id: string }): Promise<void> {
    await this.outbox.publish(this.connection, { topic, key: about.id, payload: about });
    if (this.#isFirst) this.onCommit(() => this.relay.wake());
    this.#isFirst = false;
  }
}

/** @public The declaration of the graph names it. */
export class PublishingOrderRepository extends OrderRepository {
  readonly #events: TransactionEvents;

  constructor(connection: IConnection, context: IRequestContext, dialect: ISqlDialect, events: TransactionEvents) {
    super(connection, context, dialect);
    this.#events = events;
  }

  override async create(body: NewOrder): Promise<Order> {
    const order = await super.create(body);
    await this.#events.publish('order.created', order);
    return order;
  }
}

/** @public The declaration of the graph names it. */
export class PublishingUserRepository extends UserRepository {
  readonly #events: TransactionEvents;

  constructor(connection: IConnection, dialect: ISqlDialect, events: TransactionEvents) {
    super(connection, dialect);
    this.#events = events;
  }

  override async create(data: NewUser): Promise<User> {
    const user = await super.create(data);
    await this.#events.publish('user.created', user);
    return user;
  }
}

/** Outside of a transaction: a user and its event need one. */
export class TransactionalUserRepository extends UserRepository {
  readonly #request: IContainer;

  constructor(request: IContainer) {
    super(request.resolve('IDatabasePool'), request.resolve('ISqlDialect'));
    this.#request = request;
  }

  override create(data: NewUser): Promise<User> {
    const request = this.#request;
    return runInTransaction(
      request,
      (scope) => scope.resolve('IUserRepository').create(data),
      transactionOptions(request),
    );
  }
}

/** How long shutdown waits for deliveries in progress: less than the process has for its disposal. */
const DRAIN_MS = 3000;
/** A busy instance then claims many events with one statement, which is most of what they cost the database. */
const GATHER_MS = 100;

/** `EVENTS_URL` adds this to the object graph: these repositories replace those that publish nothing. */
export const eventFeature = ({ serviceName, database, events }: Config) =>
  when(events, (given) =>
    feature(
      'events',
      {
        IEventsConfig: given,
        IOutbox: make('application', (pool: IDatabasePool) => createOutbox(pool, { dialect: database.kind }), [
          'IDatabasePool',
        ]),
        IEventSender: make(
          'application',
          (config: EventsConfig, logger: ILogger) => new EventSender(config, serviceName, logger),
          ['IEventsConfig', 'ILogger'],
        ),
        IEventRelay: make(
          'application',
          (outbox: Outbox, sender: EventSender, logger: ILogger) =>
            outbox.relay(sender.deliver, {
              drainMs: DRAIN_MS,
              gatherMs: GATHER_MS,
              onError: (err) => logger.error({ msg: 'An event was not delivered', err }),
            }),
          ['IOutbox', 'IEventSender', 'ILogger'],
        ).pipe(onStart((relay) => relay.start())),
        IAfterCommit: make(
          'transaction',
          (scope: IContainer): AfterCommit =>
            (act) =>
              afterCommit(scope, act),
        ),
        ITransactionEvents: of('transaction', TransactionEvents, [
          'IOutbox',
          'IEventRelay',
          'IConnection',
          'IAfterCommit',
        ]),
        IOrderRepository: of('transaction', PublishingOrderRepository, [
          'IConnection',
          'IRequestContext',
          'ISqlDialect',
          'ITransactionEvents',
        ]).override(),
        IUserRepository: [
          make('request', (scope): TransactionalUserRepository => new TransactionalUserRepository(scope)).override(),
          of('transaction', PublishingUserRepository, ['IConnection', 'ISqlDialect', 'ITransactionEvents']).override(),
        ],
      },
      hosts,
      infrastructure,
      userFeature,
      orderFeature,
    ),
  );
