export type { EventOf, NewEvent, OutboxEvent } from './outbox.js';
export type { Deliver, RelayOptions } from './options.js';
export { createOutbox, type DeadLetter, type Outbox } from './outbox.js';
export type { Relay } from './relay.js';
export { outboxSchema, type OutboxDialect, type OutboxOptions, type OutboxTable, type Topics } from './schema.js';
