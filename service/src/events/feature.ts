import { onStart } from '@ambit/container';
import type { IDatabasePool } from '@ambit/transaction';
import { createOutbox, type Outbox } from '@ambit/transaction/outbox';
import type { Config, EventsConfig } from '../config/config.js';
import { feature, make, of } from '../lifetimes.js';
import type { ILogger } from '../logging/logger.js';
import {
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
export const eventFeature = ({ serviceName, database }: Config, events: EventsConfig) =>
  feature('events', {
    IOutbox: make('application', (pool: IDatabasePool) => createOutbox(pool, { dialect: database.kind }), [
      'IDatabasePool',
    ]),
    IEventSender: make('application', (logger: ILogger) => new EventSender(events, serviceName, logger), ['ILogger']),
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
    // It calls back after COMMIT, which it asks its scope for.
    ITransactionEvents: make('transaction', (scope): TransactionEvents => new TransactionEvents(scope)),
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
  });
