// What the inspector's server sends to its page, and what a recording is exported as.
export type * from './wire/graph.js';
export type * from './wire/now.js';
export type * from './wire/request.js';
export type * from './wire/stream.js';
export type * from './wire/tables.js';
