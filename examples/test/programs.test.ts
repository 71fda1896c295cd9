import { once } from 'node:events';
import { createServer } from 'node:net';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { fileOf, run } from './support/program.js';

/** Occupies port 3000, unless another program has it, so that the example cannot listen there. */
async function takePort3000(host?: string): Promise<AsyncDisposable> {
  const server = createServer();
  server.listen(3000, host);
  await once(server, 'listening').catch(() => undefined);
  return {
    [Symbol.asyncDispose]: async () => {
      if (server.listening) await once(server.close(), 'close');
    },
  };
}

const ended = (output: string) => ({ code: 0, signal: null, errors: '', output });

describe('simplified-express, run', () => {
  it('listens on PORT, and exits with 0 at SIGTERM', async () => {
    const program = run([fileOf('simplified-express')], { PORT: '0' });
    const port = await program.listening;
    const response = await fetch(`http://127.0.0.1:${port}/users`);
    expect(await response.json()).toEqual([]);
    program.stop();
    expect(await program.ended()).toEqual(ended(`Listening on port ${port}\nAUDIT: users_listed { count: 0 }\n`));
  });

  it('listens on 3000 where there is no PORT', async () => {
    await using _ = await takePort3000();
    const { code, errors } = await run([fileOf('simplified-express')], { PORT: undefined }).ended();
    expect(code).toBe(1);
    expect(errors).toMatch(/EADDRINUSE.*:3000$/m);
  });
});

describe('simplified-fastify, run', () => {
  it('exits with 0 at SIGTERM', async () => {
    const program = run([
      '--input-type=module',
      '--eval',
      `import { start } from '${pathToFileURL(fileOf('simplified-fastify')).href}'; await start(0);`,
    ]);
    const port = await program.listening;
    const response = await fetch(`http://localhost:${port}/users`);
    expect(await response.json()).toEqual([]);
    program.stop();
    const { output, ...end } = await program.ended();
    expect(end).toEqual({ code: 0, signal: null, errors: '' });
    expect(output).toContain('AUDIT: users_listed { count: 0 }');
  });

  it('listens on 3000', async () => {
    await using _ = await takePort3000('localhost');
    const { code, errors } = await run([fileOf('simplified-fastify')]).ended();
    expect(code).toBe(1);
    expect(errors).toMatch(/EADDRINUSE.*:3000$/m);
  });
});

describe('the examples that need no client', () => {
  it.each([
    [
      'without-decorators greets each visitor in a scope of their own',
      'without-decorators',
      'Hello Ada, you are visitor 1\nScope of Ada disposed\nHello Grace, you are visitor 2\nScope of Grace disposed\n',
    ],
    [
      'background-job stores nothing of the attempt that had a conflict',
      'background-job',
      'Attempt 1 released 2\nAttempt 2 released 2\nCommitted: 2 released\n[ { level: 9 } ]\n',
    ],
  ])('%s', async (_title, name, output) => {
    expect(await run([fileOf(name)]).ended()).toEqual(ended(output));
  });
});
