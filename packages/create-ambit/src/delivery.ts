import type { PackageManager, ProjectOptions } from './project.js';

type Options = Required<ProjectOptions>;

/** The commands of a package manager, as a build or a pipeline runs them. */
interface Commands {
  readonly files: string;
  /** Before all others; empty for npm, which Node brings. */
  readonly setup: string;
  readonly install: string;
  readonly prune: string;
}

const COMMANDS: Readonly<Record<PackageManager, Commands>> = {
  npm: { files: 'package-lock.json', setup: '', install: 'npm ci', prune: 'npm prune --omit=dev' },
  pnpm: {
    files: 'pnpm-lock.yaml',
    setup: 'corepack enable',
    install: 'pnpm install --frozen-lockfile',
    prune: 'pnpm prune --prod',
  },
  yarn: {
    files: 'yarn.lock .yarnrc.yml',
    setup: 'corepack enable',
    install: 'yarn install --immutable',
    prune: 'yarn workspaces focus --production',
  },
  bun: {
    files: 'bun.lock',
    setup: 'npm install --global bun@1',
    install: 'bun install --frozen-lockfile',
    prune: 'bun install --production --frozen-lockfile',
  },
};

/** Two stages, so that the image has no compiler. */
export function dockerfileOf({ database, queryBuilder, packageManager }: Options): string {
  const { files, setup, install, prune } = COMMANDS[packageManager];
  // A file of SQLite has to outlive the container.
  const storage = database === 'sqlite' ? 'ENV DATABASE_FILE=/data/shop.db\nVOLUME /data\n' : '';
  const folder = database === 'sqlite' ? 'RUN mkdir /data && chown node:node /data\n' : '';
  // Those in TypeScript are in dist.
  const migrations = ['none', 'drizzle'].includes(queryBuilder)
    ? 'COPY --from=build /app/migrations ./migrations\n'
    : '';
  return `FROM node:24-slim AS build
WORKDIR /app
${setup === '' ? '' : `RUN ${setup}\n`}COPY package.json ${files} ./
RUN ${install}
COPY . .
RUN ${packageManager} run build && ${prune}

FROM node:24-slim
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0
${folder}${storage}COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
${migrations}COPY --from=build /app/dist ./dist
USER node
EXPOSE 3000
# Node itself, so that it receives SIGTERM. Before a new version: node dist/migrate.js
CMD ["node", "dist/server.js"]
`;
}

/** A workflow for GitHub. */
export function workflowOf({ database, packageManager }: Options): string {
  const { setup, install } = COMMANDS[packageManager];
  const services =
    database === 'postgres'
      ? `    services:
      database:
        image: postgres:17
        env:
          POSTGRES_USER: shop
          POSTGRES_PASSWORD: shop
        ports:
          - 5432:5432
        options: --health-cmd "pg_isready --username shop" --health-interval 1s --health-retries 30
`
      : '';
  const run = { npm: 'npx', pnpm: 'pnpm exec', yarn: 'yarn', bun: 'bunx' }[packageManager];
  const base = 'origin/${{ github.base_ref || github.ref_name }}';
  const commands = [
    setup,
    install,
    `${packageManager} run lint`,
    `${run} ambit check --base ${base} --github --plans -- ${packageManager} run test`,
    // Fails where a route has changed and its record was not committed.
    'git diff --exit-code transactions.json',
    `${packageManager} run build`,
  ].filter((command) => command !== '');
  return `name: ci
on:
  push:
    branches: [main]
  pull_request:
permissions:
  contents: read
jobs:
  test:
    runs-on: ubuntu-latest
    timeout-minutes: 10
${services}    steps:
      - uses: actions/checkout@v5
        with:
          fetch-depth: 0
      - uses: actions/setup-node@v5
        with:
          node-version: 24
${commands.map((command) => `      - run: ${command}\n`).join('')}`;
}

/** A page for coding agents, which change the project without having read the documentation. */
export function agentsOf({ name, host, database, queryBuilder, packageManager }: Options): string {
  const run = `${packageManager} run`;
  const inTransaction = {
    express: '`withTransaction()` on the route, then `resolve(req, key)`',
    fastify: '`config: { transaction: true }` on the route, then `requireTransactionScope(request).resolve(key)`',
    hono: '`withTransaction()` on the route, then `requireTransactionScope(c).resolve(key)`; `c.var.container` stays outside of it',
  }[host];
  const schema = `\`outboxSchema({ dialect: '${database}' })\``;
  const listed = 'Add a file to `src/migrations/` for each change, and list it in `src/migrations.ts`';
  const [change, others] = {
    none: ['Add a file of SQL to `migrations/` for each change', `a file of what ${schema} returns`],
    kysely: [listed, `\`sql.raw(statement).execute(db)\` for each of \`splitStatements()\` of ${schema}`],
    drizzle: [
      `Change \`src/db.ts\`; \`${run} migration\` adds the file to \`migrations/\``,
      `what ${schema} returns, with \`--> statement-breakpoint\` between the statements, in the file of \`npx drizzle-kit generate --custom\``,
    ],
    knex: [listed, `\`db.raw(statement)\` for each of \`splitStatements()\` of ${schema}`],
  }[queryBuilder];
  return `# ${name}, for agents

## Commands

- \`${run} test\`: types, with them the object graph, then the tests. Run it after each change.
- \`${run} lint\` and \`${run} format\`
- \`${run} dev\`: migrates, starts, and reports misuse of transactions, with the line
- \`npx ambit explain AMBIT_TX_FAILED\`: the meaning of an error's code, and its fix

## Services

- \`src/graph.ts\` has every service, its lifetime and the keys that it needs. Add a class there; never \`new\` it in a handler.
- Lifetimes: \`application\` (one), \`request\` (one for each request), \`transaction\` (one for each transaction). A service may need those of its own lifetime or a longer one: the compiler and \`verify()\` refuse the rest.
- A service that reads or writes has two lifetimes, \`['request', 'transaction']\`, and depends on \`db\`: the pool in a request, the connection in a transaction. It never injects \`IDatabasePool\`.
- Keep no data of a request in a module or in a service of the application.

## Transactions

- In a handler: ${inTransaction}.
- It commits when the handler has responded with less than 500, before the client sees the response. It rolls back when the handler throws: throw \`Refusal\` (\`src/order.ts\`) to refuse.
- Await every query. Send no \`BEGIN\`, \`COMMIT\` or \`ROLLBACK\`.
- Call no other system inside of one: use \`afterCommit(scope, work)\` of \`@ambit/transaction\`.

## Tables

- ${change}. Never change one that has run.
- The tables of \`@ambit/outbox\` and \`@ambit/idempotency\` are migrations, too: ${others}.

## Tests

- A test runs in a sandbox that is rolled back, on a real database: no mocks of the database.
`;
}
