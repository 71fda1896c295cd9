import { contestant as inferdi, setupWith } from './inferdi.mjs';

/** Its "fast mode": cycles and captive dependencies go unnoticed at run time. */
/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  ...inferdi,
  title: 'inferdi, strict: false',
  cliffs: false,
  setup: setupWith({ strict: false }),
};
