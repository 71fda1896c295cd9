import { readConfig, startService } from '../../../service/dist/index.js';

/** @type {import('../contestant.mjs').Contestant} */
export const contestant = {
  title: 'ambit, Fastify',
  package: '@ambit/fastify',
  start: async () => (await startService(readConfig({ ...process.env, HOST_VARIANT: 'fastify', PORT: '0' }))).url,
};
