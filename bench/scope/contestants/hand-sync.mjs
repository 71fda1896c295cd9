import { contestant as hand } from './hand.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written, sync',
  scopes: 'a class',
  ends: 'sync',
  setup: (services, work) => ({ ...hand.setup(services, work), close: (scope) => scope.end() }),
};
