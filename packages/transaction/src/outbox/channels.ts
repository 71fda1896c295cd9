import { channel } from 'node:diagnostics_channel';

/** `{ table, event, milliseconds, lag }`, after the receiver took an event; `lag` is the milliseconds since it was published. */
export const outboxDelivered = channel('ambit:outbox:delivered');
/** `{ table, event, milliseconds, error, dead, retryInMs? }`, after a delivery failed. */
export const outboxFailed = channel('ambit:outbox:failed');
/** `{ table, pending, dead, lag }`, now and then; `lag` is the age of the oldest event that is pending, in milliseconds. */
export const outboxBacklog = channel('ambit:outbox:backlog');
