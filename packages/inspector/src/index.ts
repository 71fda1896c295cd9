export { type Followed, Inspector } from './inspector.js';
export type { InspectorOptions } from './options.js';
