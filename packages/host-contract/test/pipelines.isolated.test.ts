import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { express4Host, expressHost } from './hosts/express.js';
import { fastifyHost } from './hosts/fastify.js';
import { honoHost } from './hosts/hono.js';
import { nodeHost } from './hosts/node.js';
import { PipelineTrial } from './support/pipelines.js';

/** `SEED=123` plays that one pipeline again on every host; `PIPELINED=100000` sends more requests to each. */
const { SEED, PIPELINED = '1500' } = process.env;

describe.each([expressHost, express4Host, fastifyHost, nodeHost, honoHost])('pipelined requests on $name', (host) => {
  let trial: PipelineTrial;
  beforeEach(async () => {
    trial = await PipelineTrial.on(host);
  });
  afterEach(async () => {
    expect(await trial.close()).toEqual([]);
  });

  test.runIf(SEED)(`get their responses in the pipeline of SEED=${SEED}`, async () => {
    expect(await trial.replay(Number(SEED))).toBeUndefined();
  });

  test.skipIf(SEED)(`get their responses, ${PIPELINED} of them in random pipelines`, { timeout: 900_000 }, async () => {
    const started = performance.now();
    const failures = await trial.play(1, Number(PIPELINED));
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${host.name}: ${trial.checked} responses checked in ${seconds} s`);
    expect(failures.map(({ seed, what }) => `SEED=${seed} replays it on ${host.name}: ${what}`)).toEqual([]);
    expect(trial.checked).toBeGreaterThan(Number(PIPELINED) / 2);
  });
});
