export type { SandboxOptions } from '../sandbox/sandbox.js';
export { type Sandbox, sandbox } from '../sandbox/sandbox.js';
export { Sandboxes } from '../sandbox/sandboxes.js';
export type { RequestWithHeaders, SandboxesOptions } from '../sandbox/sandboxes.js';
export { FakePool, type FakePoolOptions } from './fake-pool.js';
export type { FakeFault, FaultPoint } from './fake-pool.js';
export { SimulatedClock } from './simulated-clock.js';
