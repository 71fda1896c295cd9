export type { RawResponse } from './response.js';
export { RawClient, type RequestText, requestText } from './client.js';
export { type DatabaseKind, databases, postgresUrl, type TestDatabase } from './databases.js';
export { Happenings } from './events.js';
export { Pause } from './pause.js';
export { ScopeLedger } from './scopes.js';
export { connectionLost, type Step, WatchedConnection } from './watched-connection.js';
export { type Interference, WatchedPool } from './watched-pool.js';
