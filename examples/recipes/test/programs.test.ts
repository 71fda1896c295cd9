import { Queue } from 'bullmq';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, hasPostgres, hasRedis, redisUrl } from './support/databases.js';
import { fileOf, run } from '../../test/support/program.js';

const programs = [
  { name: 'bullmq-worker', missing: !hasRedis },
  { name: 'pg-boss-worker', missing: !hasPostgres },
  { name: 'websocket-server', missing: false },
  { name: 'cron-job', missing: false },
  { name: 'graphql-yoga-server', missing: false },
  { name: 'trpc-server', missing: false },
  { name: 'grpc-server', missing: false },
];

describe('the recipes, run', () => {
  let database: { readonly url: string; drop(): Promise<void> } | undefined;
  beforeAll(async () => {
    if (hasPostgres) database = await createDatabase();
  });
  afterAll(async () => {
    await database?.drop();
    if (!hasRedis) return;
    const queue = new Queue('payments', { connection: { url: redisUrl } });
    await queue.obliterate();
    await queue.close();
  });

  async function exitAt(signal: NodeJS.Signals, name: string): Promise<unknown> {
    const program = run([fileOf(`recipes/${name}`)], { PORT: '0', DATABASE_URL: database?.url });
    await program.firstLine;
    program.stop(signal);
    const { output, ...exit } = await program.ended();
    expect(output).not.toBe('');
    return exit;
  }

  for (const { name, missing } of programs)
    it.skipIf(missing)(`${name} exits with 0 at SIGTERM, by itself`, async () => {
      expect(await exitAt('SIGTERM', name)).toEqual({ code: 0, signal: null, errors: '' });
    });

  it('foreign-container has its scopes disposed by the host', async () => {
    expect(await run([fileOf('recipes/foreign-container')]).ended()).toEqual({
      code: 0,
      signal: null,
      errors: '',
      output: "Scope of visitor 1 disposed\nScope of visitor 2 disposed\n[ 'Hello visitor 1', 'Hello visitor 2' ]\n",
    });
  });

  it('they exit at Ctrl+C, too', async () => {
    expect(await exitAt('SIGINT', 'websocket-server')).toEqual({ code: 0, signal: null, errors: '' });
  });
});
