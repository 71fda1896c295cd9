import { parse } from 'node:querystring';
import { hasPostgres, openSchema } from '@ambit/host-contract';
import { Stage } from '../connections.js';
import { mustHold, type Target } from '../target.js';

const IDS = Array.from(
  { length: 12 },
  (_, index) => `0190a0b0-0000-7000-8000-0000000000${String(index * 7).padStart(2, '0')}`,
);
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

const DICTIONARY = [
  'limit=',
  'after=',
  '&',
  '=',
  '?',
  '#',
  ';',
  '%',
  '%31',
  '%6cimit=',
  '%00',
  '%ff',
  '%2d',
  '+',
  '[]',
  '[a]',
  '1',
  '1000',
  '1001',
  '01',
  '1e1',
  '-1',
  '0',
  '١',
  ...IDS,
  IDS[3]?.toUpperCase() ?? '',
  `{${IDS[1]}}`,
  'urn:uuid:',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '__proto__=',
];
const SEEDS = [
  'limit=1',
  `after=${IDS[5]}`,
  `limit=3&after=${IDS[2]}`,
  'limit=1&limit=2',
  'limit=%31',
  'a=1&b',
  'after=x',
];
/** Of a request line. */
const NO_TARGET = /[^!-~]|#/;

interface User {
  readonly id: string;
}

/** The pages of users, on SQLite and on PostgreSQL, compared with those of a list in memory. */
export async function open(): Promise<Target> {
  const schema = hasPostgres ? await openSchema() : undefined;
  const stages = [await Stage.open('fastify', { DATA_DIR: ':memory:' })];
  if (schema) stages.push(await Stage.open('express', { DATABASE_URL: schema.url() }));
  for (const { app } of stages)
    for (const id of IDS)
      await app.pool.query('INSERT INTO users (id, name, email) VALUES ($1, $2, $3)', [id, 'Ada', 'ada@example.org']);

  return {
    dictionary: DICTIONARY,
    maxLength: 300,
    seeds: SEEDS.map((text) => Buffer.from(text)),
    async run(input) {
      const query = input.toString();
      // What is no request is read by the target of heads.
      if (NO_TARGET.test(query)) return [];
      const expected = pageOf(query);
      for (const stage of stages) {
        stage.app.log.clear();
        const request = Buffer.from(`GET /api/users?${query} HTTP/1.1\r\nhost: test\r\n\r\n`);
        const { responses } = await stage.converse(request);
        const [{ status, text } = { status: 0, text: '' }] = responses;
        const show = () => ({ expected, status, text });
        mustHold(status === (expected ? 200 : 400), 'another status', show);
        const ids = expected && (JSON.parse(text) as User[]).map(({ id }) => id);
        mustHold(String(ids) === String(expected), 'another page', show);
      }
      return [expected ? `${expected.length} users` : 'refused'];
    },
    async close() {
      for (const { app } of stages) await app.stop();
      await schema?.drop();
    },
  };
}

/** Undefined where it is to be refused. */
function pageOf(query: string): readonly string[] | undefined {
  const { limit = String(IDS.length), after = '' } = parse(query, '&', '=', { maxKeys: 0 });
  if (typeof limit !== 'string' || !/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > 1000)
    return undefined;
  if (
    typeof after !== 'string' ||
    ((after !== '' || /(?:^|&)after(?:=|&|$)/.test(decoded(query))) && !UUID.test(after))
  )
    return undefined;
  return IDS.filter((id) => id > after.toLowerCase()).slice(0, Number(limit));
}

/** Only to see whether a name is there. */
function decoded(query: string): string {
  return query.replaceAll(/%([2-7][\da-f])/gi, (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
