import { type Binding, hasTag, onStart, Registration, scope, singleton } from '@ambit/container';
import { createOutbox, type Outbox, type Relay } from '@ambit/transaction/outbox';
import type { Config, EventsConfig } from '../config/config.js';
import {
  PublishingOrderRepository,
  PublishingUserRepository,
  TransactionalUserRepository,
  TransactionEvents,
} from './publishing.js';
import { EventSender } from './sender.js';

declare module '@ambit/container' {
  interface ServiceMap {
    IOutbox: Outbox;
    IEventSender: EventSender;
    IEventRelay: Relay;
    ITransactionEvents: TransactionEvents;
  }
}

/** How long shutdown waits for deliveries in progress: less than the process has for its disposal. */
const DRAIN_MS = 3000;
/** A busy instance then claims many events with one statement, which is most of what they cost the database. */
const GATHER_MS = 100;

/** What `EVENTS_URL` adds to the object graph: they replace the repositories that publish nothing. */
export function eventBindings({ serviceName, database }: Config, events: EventsConfig): Binding[] {
  const dialect = database.kind;
  const perTransaction = [singleton(), scope(hasTag('transaction'))] as const;
  return [
    Registration.fromFactory((pool) => createOutbox(pool, { dialect }), ['IDatabasePool'])
      .pipe(singleton())
      .to('IOutbox'),
    Registration.fromFactory((logger) => new EventSender(events, serviceName, logger), ['ILogger'])
      .pipe(singleton())
      .to('IEventSender'),
    Registration.fromFactory(
      (outbox, sender, logger) =>
        outbox.relay(sender.deliver, {
          drainMs: DRAIN_MS,
          gatherMs: GATHER_MS,
          onError: (err) => logger.error({ msg: 'An event was not delivered', err }),
        }),
      ['IOutbox', 'IEventSender', 'ILogger'],
    )
      .pipe(
        singleton(),
        onStart((relay) => relay.start()),
      )
      .to('IEventRelay'),
    Registration.fromFactory((transaction) => new TransactionEvents(transaction))
      .pipe(...perTransaction)
      .to('ITransactionEvents'),
    Registration.fromFactory((transaction) => new PublishingOrderRepository(transaction))
      .pipe(...perTransaction)
      .to('IOrderRepository'),
    Registration.fromFactory((transaction) => new PublishingUserRepository(transaction))
      .pipe(...perTransaction)
      .to('IUserRepository'),
    Registration.fromFactory((request) => new TransactionalUserRepository(request))
      .pipe(singleton(), scope(hasTag('request')))
      .to('IUserRepository'),
  ];
}
