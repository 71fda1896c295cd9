export { record, type Recorder, type RecordOptions } from './record.js';
export type { Failure, Outcome, Recording } from './recording.js';
export type { RedactOptions } from './redact.js';
