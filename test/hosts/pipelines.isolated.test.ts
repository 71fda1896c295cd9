import { describe, expect, test } from 'vitest';
import { firstSeed, replayedSeed } from '@ambit/test-kit';
import { express4Hosts, expressHost } from './adapters/express.js';
import { fastifyHost } from './adapters/fastify.js';
import { honoHost } from './adapters/hono.js';
import { nodeHost } from './adapters/node.js';
import { PipelineTrial } from './support/pipelines.js';

/** `SEED=123` plays that one pipeline again on every host; `PIPELINED=100000` sends more requests to each, from `FIRST_SEED` on. */
const { PIPELINED = '500' } = process.env;

describe.each([expressHost, ...express4Hosts, fastifyHost, nodeHost, honoHost])(
  'pipelined requests on $name',
  (host) => {
    test.runIf(replayedSeed)(`get their responses in the pipeline of SEED=${replayedSeed}`, async () => {
      const trial = await PipelineTrial.on(host);
      expect(await trial.replay(replayedSeed ?? firstSeed)).toBeUndefined();
      expect(await trial.close()).toEqual([]);
    });

    test.skipIf(replayedSeed)(
      `get their responses, ${PIPELINED} of them in random pipelines`,
      { timeout: 900_000 },
      async () => {
        const trial = await PipelineTrial.on(host);
        const started = performance.now();
        const failures = await trial.play(firstSeed, Number(PIPELINED));
        const seconds = ((performance.now() - started) / 1000).toFixed(1);
        console.log(`${host.name}: ${trial.checked} responses checked in ${seconds} s`);
        const open = await trial.close();
        expect(failures.map(({ seed, what }) => `SEED=${seed} replays it on ${host.name}: ${what}`)).toEqual([]);
        expect(open).toEqual([]);
        expect(trial.checked).toBeGreaterThan(Number(PIPELINED) / 5);
      },
    );
  },
);
