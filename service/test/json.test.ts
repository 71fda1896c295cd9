import type { Exchange } from '@ambit/host-contract';
import { describe, expect, test } from 'vitest';
import { NUMBERS } from './json-corpus/numbers.js';
import { STRINGS } from './json-corpus/strings.js';
import { STRUCTURES } from './json-corpus/structures.js';
import type { Case } from './json-corpus/case.js';
import { ADA, postUser } from './odd-requests/request.js';
import { bothHosts } from './support/both-hosts.js';

const TABLES: readonly (readonly [about: string, cases: readonly Case[]])[] = [
  ['numbers', NUMBERS],
  ['strings', STRINGS],
  ['structures', STRUCTURES],
];

const NO_JSON = [
  'The body is not valid JSON',
  'The body is not valid UTF-8',
  'The body must not be nested deeper than 32 levels',
];

/** As the value of a property that no user has. */
const insideOfUser = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(ADA.replace('}', ',"x":')), bytes, Buffer.from('}')]);

describe.each(TABLES)('of %s as a body', (_about, cases) => {
  const hosts = bothHosts();

  const ask = async (body: Buffer): Promise<{ status: number; error: string | undefined }> => {
    const responses = await Promise.all([hosts.express, hosts.fastify].map((app) => app.exchange(postUser(body))));
    const [seen, other] = responses.map(({ status, text, next }: Exchange) => {
      const { error } = JSON.parse(text) as { error?: string };
      return { status, error, next };
    });
    expect(seen).toEqual({ ...other, next: 200 });
    return { status: seen?.status ?? 0, error: seen?.error };
  };

  test.each(cases.filter(({ verdict }) => verdict === 'y'))('$name is read', async ({ bytes }) => {
    const { status, error } = await ask(bytes);
    expect(status).toBe(400);
    expect(NO_JSON).not.toContain(error);
    expect(await ask(insideOfUser(bytes))).toEqual({ status: 201, error: undefined });
  });

  test.each(cases.filter(({ verdict }) => verdict === 'n'))('$name is refused', async ({ bytes }) => {
    const { status, error } = await ask(bytes);
    expect(status).toBe(400);
    expect([...NO_JSON, ...(bytes.length === 0 ? ['A JSON body is required'] : [])]).toContain(error);
  });

  test.each(cases.filter(({ verdict }) => verdict === 'i'))('$name is read or refused', async ({ bytes }) => {
    for (const body of [bytes, insideOfUser(bytes)]) {
      const { status } = await ask(body);
      expect(status >= 200 && status < 500).toBe(true);
    }
  });
});

test('the corpus is large, and has no case twice', () => {
  const bodies = TABLES.flatMap(([, cases]) => cases.map(({ bytes }) => bytes.toString('latin1')));
  expect(bodies.length).toBeGreaterThan(400);
  expect(bodies.filter((body, at) => bodies.indexOf(body) !== at)).toEqual([]);
});
