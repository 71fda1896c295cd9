/** The contract of hosts, for their authors. It needs vitest. */
export { type HostContractOptions, hostContract } from './hosts/host-contract.js';
export type { DatabaseKind, TestDatabase } from './hosts/databases.js';
export type {
  AppDescription,
  Call,
  Exception,
  Host,
  Reply,
  RequestLimits,
  Route,
  RouteTransaction,
  RunningHost,
  ScopeOptions,
} from './hosts/host.js';
export type { Stage, StageOptions } from './hosts/stage.js';
export type { StageTest } from './hosts/stage-test.js';
export { collectGarbage } from './hosts/garbage.js';
export { expectTakenBack, MANY_HEADERS } from './hosts/headers.js';
