export { replay, type Replayed, type ReplayOptions } from './replay/replay.js';
export type { ReplayableApplication } from './replay/application.js';
export type { Failure, Outcome, Recording } from './recording.js';
