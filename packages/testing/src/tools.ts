/** The parts that the contract suites are made of. They are internal: any release may change them. */
export { RawClient, type RequestText, requestText } from './tools/client.js';
export { type Exchange, exchange, refused } from './tools/exchange.js';
export { type RawResponse, readResponse } from './tools/response.js';
export { ScopeLedger } from './tools/scopes.js';
export { Happenings, msOf, Pause, signal } from './tools/waiting.js';
export { connectionLost, type Interference, type Step, WatchedConnection, WatchedPool } from './tools/watched-pool.js';
export { addWithHead, compress, saveFirst, type Wrap } from './tools/wrappers.js';
export { sqliteDatabase } from './hosts/databases.js';
export { BODY_LIMIT, webStreamOf } from './hosts/host.js';
export { CREATED, ORDER } from './hosts/stage.js';
