export type { DatabaseKind, TestDatabase } from '@ambit/testing/hosts';
export {
  connectionLost,
  type Exchange,
  exchange,
  Happenings,
  type Interference,
  msOf,
  Pause,
  RawClient,
  type RawResponse,
  readResponse,
  refused,
  type RequestText,
  requestText,
  ScopeLedger,
  signal,
  type Step,
  WatchedConnection,
  WatchedPool,
  type Wrap,
} from '@ambit/testing/tools';
export { certificate } from './certificate.js';
export { canStartServers, type Server, startServer } from './cluster.js';
export { chosen, databases } from './databases.js';
export { hasMariadb, type MariadbDatabase, mariadbPool, mariadbUrl, openMariadbDatabase } from './mariadb.js';
export { canStartMariadb, type OwnMariadb, startMariadb } from './mariadb-server.js';
export {
  asPostgresAdmin,
  hasPostgres,
  openPostgresDatabase,
  openSchema,
  type PostgresSchema,
  postgresUrl,
} from './postgres.js';
export { type FaultyProxy, openProxy } from './proxy.js';
export { SimulatedCallbacks } from './simulated-callbacks.js';
export { Chance, FAULTS, firstSeed, Parts, type Play, replayedSeed, runsOr, Simulation } from './simulation.js';
export { type Flush, type SimulatedNetwork, SimulatedSocket } from './simulated-socket.js';
export { onClock } from './simulated-time.js';
export {
  anomaliesOf,
  type Anomaly,
  type AnomalyName,
  FORBIDDEN,
  type Operation,
  type RecordedTransaction,
} from './history.js';
