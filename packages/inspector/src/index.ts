export { recordLine } from './inspector.js';
export { type Followed, Inspector } from './inspector.js';
export type { InspectorOptions } from './options.js';
export type { Line } from './wire.js';
