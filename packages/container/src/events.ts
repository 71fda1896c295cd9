import { channel } from '#platform';

/** `{ scope }`, after a child scope was opened. */
export const scopeOpened = channel('ambit:scope:opened');
/** `{ scope }`, after a scope and all below it were disposed. */
export const scopeClosed = channel('ambit:scope:closed');
/** `{ scope, key, milliseconds }`, after a scope made an instance that it keeps. */
export const instanceCreated = channel('ambit:instance:created');
/** `{ scope, key, error? }`, after an instance was disposed. */
export const instanceDisposed = channel('ambit:instance:disposed');
