import type * as node from './node.js';

/** Takes the place of node.ts where there is no Node: the request and its response tell all there is to know. */
export class Sockets implements Pick<node.Sockets, 'open'> {
  static readonly maxRequests = Infinity;

  open(): undefined {
    return undefined;
  }
}
