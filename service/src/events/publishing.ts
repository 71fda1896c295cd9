import { type IContainer, onStart } from '@ambit/container';
import { afterCommit, type IConnection, type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { createOutbox, type Outbox, type Relay } from '@ambit/outbox';
import type { IRequestContext } from '../ids.js';
import type { Config, EventsConfig } from '../config/config.js';
import type { ISqlDialect } from '../database/engine.js';
import { feature, hosts, infrastructure, make, when } from '../infrastructure.js';
import type { ILogger } from '../logging/logger.js';
import { type IOrderRepository, orderFeature, OrderRepository } from '../orders/orders.js';
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

function publishIn(transaction: IContainer): Publish {
  const [outbox, relay] = [transaction.resolve('IOutbox') as Outbox, transaction.resolve('IEventRelay') as Relay];
  const connection = transaction.resolve('IConnection');
  return async (topic, about) => {
    // Events of one order or user are delivered in order, because they share a key.
    await outbox.publish(connection, { topic, key: about.id, payload: about });
    afterCommit(transaction, () => relay.wake());
    return about;
  };
}

/** A user and its event need a transaction, so that a user outside of one is created in one of its own. */
function usersInTransactions(request: IContainer): IUserRepository {
  const create = (data: NewUser): Promise<User> =>
    runInTransaction(request, (tx) => tx.resolve('IUserRepository').create(data), transactionOptions(request));
  const users = new UserRepository(request.resolve('IDatabasePool'), request.resolve('ISqlDialect'));
  return Object.assign(users, { create });
}

function publishedUsers(connection: IConnection, dialect: ISqlDialect, publish: Publish): IUserRepository {
  const users = new UserRepository(connection, dialect);
  const store = users.create.bind(users);
  return Object.assign(users, { create: async (data: NewUser) => publish('user.created', await store(data)) });
}

function publishedOrders(
  connection: IConnection,
  context: IRequestContext,
  dialect: ISqlDialect,
  publish: Publish,
): IOrderRepository {
  const orders = new OrderRepository(connection, context, dialect);
  return { create: async (body) => publish('order.created', await orders.create(body)) };
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
        IPublish: make('transaction', publishIn),
        IOrderRepository: make('transaction', publishedOrders, [
          'IConnection',
          'IRequestContext',
          'ISqlDialect',
          'IPublish',
        ]).override(),
        IUserRepository: [
          make('request', usersInTransactions).override(),
          make('transaction', publishedUsers, ['IConnection', 'ISqlDialect', 'IPublish']).override(),
        ],
      },
      hosts,
      infrastructure,
      userFeature,
      orderFeature,
    ),
  );
