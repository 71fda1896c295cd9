import { type IContainer, onStart } from '@ambit/container';
import { afterCommit, type IDatabasePool } from '@ambit/transaction';
import { createOutbox, type Outbox } from '@ambit/transaction/outbox';
import type { Config, EventsConfig } from '../config/config.js';
import { hosts, infrastructure } from '../infrastructure.js';
import { feature, make, of, when } from '../lifetimes.js';
import type { ILogger } from '../logging/logger.js';
import { orders } from '../orders/feature.js';
import { users } from '../users/feature.js';
import {
  type AfterCommit,
  PublishingOrderRepository,
  PublishingUserRepository,
  TransactionalUserRepository,
  TransactionEvents,
} from './publishing.js';
import { EventSender } from './sender.js';

/** How long shutdown waits for deliveries in progress: less than the process has for its disposal. */
const DRAIN_MS = 3000;
/** A busy instance then claims many events with one statement, which is most of what they cost the database. */
const GATHER_MS = 100;

/** What `EVENTS_URL` adds to the object graph: these repositories replace those that publish nothing. */
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
          of('transaction', PublishingUserRepository, ['IConnection', 'ITransactionEvents']).override(),
        ],
      },
      hosts,
      infrastructure,
      users,
      orders,
    ),
  );
