import { type IContainer, onStart } from '@ambit/container';
import { afterCommit, type IConnection, type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { createOutbox, type Outbox, type Relay } from '@ambit/outbox';
import type { IRequestContext } from '../ids.js';
import type { Config, EventsConfig } from '../config/config.js';
import type { ISqlDialect } from '../database/engine.js';
import { feature, hosts, infrastructure, make, of, when } from '../infrastructure.js';
import type { ILogger } from '../logging/logger.js';
import { type IOrderRepository, type NewOrder, type Order, orderFeature, OrderRepository } from '../orders/orders.js';
import {
  type IUserRepository,
  type NewUser,
  transactionOptions,
  type User,
  userFeature,
  UserRepository,
} from '../users/users.js';
import { EventSender } from './sender.js';

/** Stores what happened in the transaction, and lets the relay look for it after COMMIT. */
type Publish = <T extends { readonly id: string }>(topic: string, about: T) => Promise<T>;

function publishIn(transaction: IContainer, outbox: Outbox, relay: Relay): Publish {
  const connection = transaction.resolve('IConnection');
  return async (topic, about) => {
    // Events of one order or user are delivered in order, because they share a key.
    await outbox.publish(connection, { topic, key: about.id, payload: about });
    afterCommit(transaction, () => relay.wake());
    return about;
  };
}

class PublishedOrders extends OrderRepository {
  constructor(
    connection: IConnection,
    context: IRequestContext,
    dialect: ISqlDialect,
    private readonly publish: Publish,
  ) {
    super(connection, context, dialect);
  }

  override async create(body: NewOrder): Promise<Order> {
    return this.publish('order.created', await super.create(body));
  }
}

class PublishedUsers extends UserRepository {
  constructor(
    connection: IConnection,
    dialect: ISqlDialect,
    private readonly publish: Publish,
  ) {
    super(connection, dialect);
  }

  override async create(data: NewUser): Promise<User> {
    return this.publish('user.created', await super.create(data));
  }
}

/** Outside of a transaction: a user and its event need one. */
class UsersInTransactions extends UserRepository {
  constructor(private readonly request: IContainer) {
    super(request.resolve('IDatabasePool'), request.resolve('ISqlDialect'));
  }

  override create(data: NewUser): Promise<User> {
    const options = transactionOptions(this.request);
    return runInTransaction(this.request, (tx) => tx.resolve('IUserRepository').create(data), options);
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
        IEventRelay: make(
          'application',
          (outbox: Outbox, config: EventsConfig, logger: ILogger) =>
            outbox.relay(new EventSender(config, serviceName, logger).deliver, {
              drainMs: DRAIN_MS,
              gatherMs: GATHER_MS,
              onError: (err) => logger.error({ msg: 'An event was not delivered', err }),
            }),
          ['IOutbox', 'IEventsConfig', 'ILogger'],
        ).pipe(onStart((relay) => relay.start())),
        IPublish: make('transaction', (tx: IContainer): Publish =>
          publishIn(tx, tx.resolve('IOutbox') as Outbox, tx.resolve('IEventRelay') as Relay),
        ),
        IOrderRepository: of('transaction', PublishedOrders, [
          'IConnection',
          'IRequestContext',
          'ISqlDialect',
          'IPublish',
        ])
          .as<IOrderRepository>()
          .override(),
        IUserRepository: [
          make('request', (request: IContainer): IUserRepository => new UsersInTransactions(request)).override(),
          of('transaction', PublishedUsers, ['IConnection', 'ISqlDialect', 'IPublish'])
            .as<IUserRepository>()
            .override(),
        ],
      },
      hosts,
      infrastructure,
      userFeature,
      orderFeature,
    ),
  );
