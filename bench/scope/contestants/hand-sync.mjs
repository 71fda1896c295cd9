import { contestant as hand } from './hand.mjs';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'hand-written, sync',
  scopes: 'a class',
  disposal: 'sync',
  setup: (services, work) => ({ ...hand.setup(services, work), close: (scope) => scope.close() }),
};
