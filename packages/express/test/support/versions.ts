import express from 'express';
// @ts-expect-error -- its types are those of the other major version
import express4 from 'express-4';
// @ts-expect-error -- it has no types of its own
import express51 from 'express-5.1';

/** Each with layers and routers of its own. Only the last publishes when a handler fails. */
export const versions: readonly (readonly [version: string, create: typeof express])[] = [
  ['Express 4.22', express4 as typeof express],
  ['Express 5.1 with router 2.2', express51 as typeof express],
  ['Express 5.3', express],
];
