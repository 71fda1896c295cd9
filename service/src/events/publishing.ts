import { type IContainer, onStart } from '@ambit/container';
import { afterCommit, type IConnection, type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { createOutbox, type Outbox, type Relay } from '@ambit/outbox';
import type { IRequestContext } from '../ids.js';
import type { Config, EventsConfig } from '../config/config.js';
import type { ISqlDialect } from '../database/engine.js';
import { feature, hosts, infrastructure, make, when } from '../infrastructure.js';
import type { ILogger } from '../logging/logger.js';
import { orderFeature, OrderRepository } from '../orders/orders.js';
import { transactionOptions, userFeature, UserRepository } from '../users/users.js';
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
  async publish<T extends { readonly id: string }>(topic: string, about: T): Promise<T> {
    await this.outbox.publish(this.connection, { topic, key: about.id, payload: about });
    if (this.#isFirst) this.onCommit(() => this.relay.wake());
    this.#isFirst = false;
    return about;
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
        ITransactionEvents: make(
          'transaction',
          (outbox: Outbox, relay: Relay, connection: IConnection, onCommit: AfterCommit) =>
            new TransactionEvents(outbox, relay, connection, onCommit),
          ['IOutbox', 'IEventRelay', 'IConnection', 'IAfterCommit'],
        ),
        IOrderRepository: make(
          'transaction',
          (connection: IConnection, context: IRequestContext, dialect: ISqlDialect, own: TransactionEvents) => {
            const orders = new OrderRepository(connection, context, dialect);
            const create = orders.create.bind(orders);
            orders.create = async (body) => own.publish('order.created', await create(body));
            return orders;
          },
          ['IConnection', 'IRequestContext', 'ISqlDialect', 'ITransactionEvents'],
        ).override(),
        IUserRepository: [
          // Outside of a transaction: a user and its event need one.
          make('request', (request: IContainer): UserRepository => {
            const users = new UserRepository(request.resolve('IDatabasePool'), request.resolve('ISqlDialect'));
            users.create = (data) => {
              const options = transactionOptions(request);
              return runInTransaction(request, (scope) => scope.resolve('IUserRepository').create(data), options);
            };
            return users;
          }).override(),
          make(
            'transaction',
            (connection: IConnection, dialect: ISqlDialect, own: TransactionEvents) => {
              const users = new UserRepository(connection, dialect);
              const create = users.create.bind(users);
              users.create = async (data) => own.publish('user.created', await create(data));
              return users;
            },
            ['IConnection', 'ISqlDialect', 'ITransactionEvents'],
          ).override(),
        ],
      },
      hosts,
      infrastructure,
      userFeature,
      orderFeature,
    ),
  );
