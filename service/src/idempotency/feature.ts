import { onStart } from '@ambit/container';
import { hosts, infrastructure } from '../infrastructure.js';
import { feature, of } from '../lifetimes.js';
import { ExpiredKeys } from './expired-keys.js';
import { KeyLock, LockedKeys } from './key-lock.js';
import { ResponseStore } from './response-store.js';

export const idempotency = feature(
  'idempotency',
  {
    ILockedKeys: of('application', LockedKeys),
    IExpiredKeys: of('application', ExpiredKeys, ['IDatabasePool', 'ILogger']).pipe(onStart((keys) => keys.start())),
    IKeyLock: of('request', KeyLock, ['ILockedKeys', 'IRequestContext']),
    IResponseStore: of('transaction', ResponseStore, ['IConnection', 'ISqlDialect', 'IRequestContext', 'IKeyLock']),
  },
  hosts,
  infrastructure,
);
