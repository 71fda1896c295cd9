import type { Database, Host, ProjectOptions, QueryBuilder } from './project.js';

const HOSTS: Readonly<Record<Host, string>> = { express: 'Express', fastify: 'Fastify', hono: 'Hono' };

const BUILDERS: Readonly<Record<QueryBuilder, string>> = {
  none: 'in SQL',
  kysely: 'through Kysely',
  drizzle: 'through Drizzle',
  knex: 'through Knex',
};

/** The sentences of the page about a database. */
const DATABASES: Readonly<
  Record<Database, { name: string; start: string; place: string; tested: string; setting: string }>
> = {
  sqlite: {
    name: 'SQLite',
    start: '',
    place: 'It listens on `http://localhost:3000` and stores in `shop.db`.',
    tested: 'SQLite in memory',
    setting: '- `DATABASE_FILE`: the file of SQLite, `shop.db` by default',
  },
  postgres: {
    name: 'PostgreSQL',
    start: 'docker compose up --detach --wait\n',
    place: `It listens on \`http://localhost:3000\`. \`compose.yaml\` has the PostgreSQL that it stores in; to use another one instead, write its address
into \`.env.development\`.`,
    tested: 'the PostgreSQL of development',
    setting: `- \`DATABASE_URL\`: the address of PostgreSQL. For that of development: \`node --env-file=.env.development dist/server.js\``,
  },
};

/** The README.md of a project: one page, with commands that run in bash, zsh, PowerShell and cmd. */
export function readmeOf({ name, host, database, queryBuilder, packageManager }: Required<ProjectOptions>): string {
  const { name: databaseName, start, place, tested, setting } = DATABASES[database];
  const run = `${packageManager} run`;
  return `# ${name}

A small API for orders, on ${HOSTS[host]}, with ${databaseName} ${BUILDERS[queryBuilder]}. An order is written in one transaction of \`@ambit/${host}\`, and its response is
sent after \`COMMIT\`, or not at all.

## Start

\`\`\`sh
${packageManager} install
${start}${run} dev
\`\`\`

${place} In a second terminal, order an apple, and list the orders:

\`\`\`sh
node -e "fetch('http://localhost:3000/orders', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ product: 'apple', quantity: 1 }) }).then((response) => response.text()).then(console.log)"
node -e "fetch('http://localhost:3000/orders').then((response) => response.text()).then(console.log)"
\`\`\`

There are ten apples. A \`quantity\` beyond that inserts its order, fails at the stock, and is rolled back: the response is 409.

## Test

\`\`\`sh
${run} test
\`\`\`

\`${run} lint\` finds mistakes, and \`${run} format\` sets the form. The test checks the types, and with them the object graph; then it sends requests to the application. Each test runs on ${tested}, in a sandbox that
is rolled back.

## Deploy

\`\`\`sh
${run} build
${run} migrate
${run} start
\`\`\`

\`Dockerfile\` builds an image, and \`.github/workflows/ci.yml\` runs lint, tests and build. \`/health/live\` is for restarts, \`/health/ready\`, which asks the database, for the load balancer.

At SIGTERM the requests in progress have ten seconds to finish, then the pool is closed. Let the container or the service manager start \`node dist/server.js\` itself, so that
it receives the signal. These are set in the environment:

- \`HOST\`: the address to listen on, \`127.0.0.1\` by default, which only this machine reaches; in a container \`0.0.0.0\`
- \`PORT\`: 3000 by default
${setting}

## Where things are

${filesOf(host, queryBuilder)
  .map(([file, what]) => `- \`${file}\`: ${what}\n`)
  .join('')}`;
}

/** In the order in which to read them. */
function filesOf(host: Host, queryBuilder: QueryBuilder): readonly (readonly [file: string, what: string])[] {
  return [
    [
      'src/graph.ts',
      'every service, its lifetime, and what it needs; `verify()` checks it when the application starts',
    ],
    ['src/app.ts', 'the routes'],
    ...(host === 'fastify'
      ? []
      : [['src/input.ts', 'what a request may contain'] as const, ['src/log.ts', 'a line for each request'] as const]),
    ['src/order.ts', 'what an order is, and how one is refused'],
    ['src/orders.ts', 'stores orders; what it throws rolls back'],
    ['src/db.ts', queryBuilder === 'none' ? 'what SQL goes to' : 'the query builder, and the types of the tables'],
    ['src/database.ts', 'the pool'],
    ['src/migrate.ts', 'runs the migrations that are new, in one transaction; a second instance waits for the first'],
    ['src/migrations.ts', 'which migrations there are'],
    ['src/config.ts', 'reads the environment'],
    ['src/server.ts', 'starts, and shuts down'],
    ['test/orders.test.ts', 'sends requests in a sandbox, with `test/client.ts`'],
  ];
}
