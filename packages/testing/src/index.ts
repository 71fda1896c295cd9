/** For tests of applications. `@ambit/testing/hosts` and `@ambit/testing/pools` are for authors of hosts and drivers. */
export {
  type FakeFault,
  FakePool,
  type FakePoolOptions,
  type FaultPoint,
  type RequestWithHeaders,
  type Sandbox,
  sandbox,
  Sandboxes,
  type SandboxesOptions,
  type SandboxOptions,
  SimulatedClock,
} from '@ambit/transaction/testing';
export {
  type Allowed,
  type Finding,
  type FindingKind,
  type Place,
  type TransactionCheck,
  transactionCheck,
  TransactionCheckError,
  type TransactionCheckOptions,
  unchecked,
} from '@ambit/transaction/check';
