/** The contract of pools, for authors of drivers. It needs vitest. */
export {
  type AddPoolTest,
  type ContractDatabase,
  poolContract,
  type PoolOptions,
  type PoolsToTest,
  type RefusedCommit,
} from './pools/pool-contract.js';
export { inheritsNothing, type Leftover, type SharedDatabase } from './pools/inherits-nothing.js';
