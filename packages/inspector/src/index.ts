export { InspectorError } from './errors.js';
export { recordLine } from './lines.js';
export { type Followed, Inspector } from './inspector.js';
export type { InspectorOptions } from './options.js';
export type { Line } from './wire.js';
