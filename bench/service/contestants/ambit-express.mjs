import { readConfig, startService } from '../../../service/dist/index.js';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'ambit, Express',
  package: '@ambit/express',
  start: async () => (await startService(readConfig({ ...process.env, HOST_VARIANT: 'express', PORT: '0' }))).url,
};
