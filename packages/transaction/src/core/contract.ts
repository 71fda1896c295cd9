export type * from './connection-contract.js';
export type * from './pool-contract.js';
