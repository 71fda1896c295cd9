export { instrument, type Instrumentation, type InstrumentOptions } from './instrument.js';
export { spanOf, type TraceIds, traceIdsOf } from './spans.js';
export type { ObservedDatabase } from './statements.js';
