export { RawClient, type RequestText, requestText } from './client.js';
export { canStartServers, type Server, startServer } from './cluster.js';
export { type DatabaseKind, databases, type TestDatabase } from './databases.js';
export { hasMariadb, type MariadbDatabase, mariadbPool, mariadbUrl, openMariadbDatabase } from './mariadb.js';
export { canStartMariadb, type OwnMariadb, startMariadb } from './mariadb-server.js';
export { Happenings } from './waiting.js';
export { type Exchange, exchange } from './exchange.js';
export { Pause } from './waiting.js';
export {
  asPostgresAdmin,
  hasPostgres,
  openPostgresDatabase,
  openSchema,
  type PostgresSchema,
  postgresUrl,
} from './postgres.js';
export { type FaultyProxy, openProxy } from './proxy.js';
export { refused } from './exchange.js';
export { type RawResponse, readResponse } from './response.js';
export { ScopeLedger } from './scopes.js';
export { SimulatedCallbacks } from './simulated-callbacks.js';
export { Chance, FAULTS, firstSeed, Parts, type Play, replayedSeed, runsOr, Simulation } from './simulation.js';
export { type Flush, type SimulatedNetwork, SimulatedSocket } from './simulated-socket.js';
export { onClock, simulateTime } from './simulated-time.js';
export { signal } from './waiting.js';
export { connectionLost, type Step, WatchedConnection } from './watched-connection.js';
export { type Interference, WatchedPool } from './watched-pool.js';
export {
  anomaliesOf,
  type Anomaly,
  type AnomalyName,
  FORBIDDEN,
  type Operation,
  type RecordedTransaction,
} from './history.js';
export { describeAnomaly, reducedTo } from './history-reduced.js';
export { addWithHead, compress, saveFirst, type Wrap } from './wrappers.js';
