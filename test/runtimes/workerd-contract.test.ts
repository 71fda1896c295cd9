import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bundled, serveWorker } from './workerd.js';

interface Outcome {
  readonly title: string;
  readonly state: 'pass' | 'fail' | 'skip';
  readonly note?: string;
  readonly errors: readonly string[];
}

const DATABASE_URL = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';
const script = await bundled({ file: join(import.meta.dirname, 'worker/contract.ts') });

/** The tests run in the Worker, which says how each of them went. */
async function outcomesOn(subject: string): Promise<Outcome[]> {
  const worker = await serveWorker(script, {
    bindings: { DATABASE_URL },
    durableObjects: { OBJECT: { className: 'TestedObject', useSQLite: true } },
  });
  try {
    const asked = new URLSearchParams({ subject, port: String(worker.port), only: process.env['ONLY'] ?? '' });
    const { body } = await fetch(`http://127.0.0.1:${worker.port}/tests?${asked.toString()}`);
    const outcomes: Outcome[] = [];
    for await (const line of createInterface({ input: Readable.fromWeb(body as never) }))
      outcomes.push(JSON.parse(line.replace(/on .*? holds > /, '')) as Outcome);
    return outcomes;
  } finally {
    await worker.close();
  }
}

/** The hosts and the pools; `SUBJECTS` names some of them. */
const { SUBJECTS = 'fetch,Hono,createPostgresPool,fromDurableObject' } = process.env;

describe.each(SUBJECTS.split(','))('%s in a Worker', async (host) => {
  test.for(await outcomesOn(host))('$title', ({ title, state, note, errors }, { skip }) => {
    if (state === 'skip') skip(note);
    expect({ title, errors }).toEqual({ title, errors: [] });
  });
});
