/*
 * A request with @Transactional() beside one without, and beside nestjs-cls: `node test/versions/nest-12/cost.mjs [--postgres] [--rounds 20]`,
 * after `npm ci --prefix test/versions/nest-12` and `npm run build`. All applications are in one process, which another one asks in turn:
 * CPU as a multiple of plain NestJS in the same round, and the heap that a request allocates.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { register } from 'node:module';
import { setTimeout as after } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { instantPool } from '../../../bench/http/instant-pool.mjs';
import { openLoad } from '../../../bench/shared/load.mjs';

const { values } = parseArgs({
  options: {
    postgres: { type: 'boolean' },
    rounds: { type: 'string', default: '20' },
    requests: { type: 'string', default: '300' },
  },
});
const REQUESTS = Number(values.requests);
if (process.send) await serve();
else await measure();

async function measure() {
  const execArgv = ['--expose-gc', '--max-semi-space-size=512'];
  const server = fork(import.meta.filename, process.argv.slice(2), { execArgv });
  const ask = async (message) => {
    server.send(message);
    return (await once(server, 'message'))[0];
  };
  const ports = (await once(server, 'message'))[0];
  const loads = {};
  const requestOf = () => ({ method: 'POST', path: '/orders' });
  for (const [name, port] of Object.entries(ports)) loads[name] = await openLoad(port, { connections: 8, requestOf });
  for (const load of Object.values(loads)) await load.send(10 * REQUESTS);
  const rounds = [];
  for (let i = 0; i < Number(values.rounds); i++) {
    const round = {};
    const turns = Object.entries(loads);
    for (const [name, load] of i % 2 ? turns : turns.toReversed()) {
      await ask('begin');
      await load.send(REQUESTS);
      await after(20);
      round[name] = await ask('end');
    }
    rounds.push(round);
  }
  const median = (numbers) => numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)];
  const rows = Object.keys(ports).map((name) => ({
    name,
    'CPU, of plain': median(rounds.map((round) => round[name].cpu / round.plain.cpu)).toFixed(2),
    µs: Math.round(median(rounds.map((round) => round[name].cpu)) / REQUESTS),
    'heap, KB': Math.round(median(rounds.map((round) => round[name].heap)) / REQUESTS / 1000),
  }));
  console.table(rows);
  for (const load of Object.values(loads)) load.close();
  server.kill();
}

async function serve() {
  // @ambit/nest has the NestJS that nestjs-cls has.
  const own = `export const resolve = (name, context, next) =>
    next(name, /^(?:@nestjs|nestjs-cls|reflect-metadata|rxjs)/.test(name) ? { ...context, parentURL: '${import.meta.url}' } : context);`;
  register(`data:text/javascript,${encodeURIComponent(own)}`);
  await import('reflect-metadata');
  const nest = await import('@nestjs/common');
  const { NestFactory } = await import('@nestjs/core');
  const { AmbitModule, Transactional, InjectScoped } = await import('@ambit/nest');
  const container = await import('@ambit/container');
  const cls = await import('nestjs-cls');
  const transactional = await import('@nestjs-cls/transactional');
  const pool = values.postgres
    ? (await import('@ambit/transaction/postgres')).createPostgresPool({
        connectionString: process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/test',
      })
    : instantPool;

  const query = (of) => of.query('SELECT 1 AS stored', []);
  const ambit = () => {
    const application = new container.Container({ tags: ['application'] });
    application.addRegistration(container.Registration.fromValue(pool).to('IDatabasePool'));
    return AmbitModule.forRoot({ container: application });
  };
  class PoolModule {}
  nest.Module({ providers: [{ provide: 'POOL', useValue: pool }], exports: ['POOL'] })(PoolModule);
  const wrapWithTransaction = async (_options, work, use) => {
    const connection = await pool.getConnection();
    try {
      await connection.beginTransaction();
      use(connection);
      const result = await work();
      await connection.commit();
      return result;
    } finally {
      connection.release();
    }
  };
  const optionsFactory = () => ({ wrapWithTransaction, getFallbackInstance: () => pool });
  const adapter = { connectionToken: 'POOL', optionsFactory };
  const plugins = () => [new transactional.ClsPluginTransactional({ imports: [PoolModule], adapter })];
  const nestjsCls = () => cls.ClsModule.forRoot({ global: true, middleware: { mount: true }, plugins: plugins() });
  const inCls = () => query(transactional.TransactionHost.getInstance().tx);
  const ways = {
    plain: {},
    'nestjs-cls, no transaction': { module: nestjsCls },
    'nestjs-cls, handler': { module: nestjsCls, handler: transactional.Transactional(), work: inCls },
    'Ambit, no transaction': { module: ambit },
    'Ambit, handler': { module: ambit, handler: Transactional() },
    'Ambit, service': { module: ambit, service: Transactional() },
  };
  const ports = {};
  for (const [name, { module, handler, service, work }] of Object.entries(ways)) {
    const decorate = (type, method, ...decorators) => {
      const descriptor = Object.getOwnPropertyDescriptor(type.prototype, method);
      for (const one of decorators) one?.(type.prototype, method, descriptor);
      Object.defineProperty(type.prototype, method, descriptor);
    };
    class Service {
      async add() {
        if (handler ?? service) await (work ?? (() => query(this.connection)))();
        return { stored: true };
      }
    }
    if (module === ambit && (handler ?? service)) InjectScoped('IConnection')(Service.prototype, 'connection');
    decorate(Service, 'add', service);
    nest.Injectable()(Service);
    class Orders {
      constructor(orders) {
        this.orders = orders;
      }
      add() {
        return this.orders.add();
      }
    }
    nest.Inject(Service)(Orders, undefined, 0);
    decorate(Orders, 'add', nest.Post(), handler);
    nest.Controller('orders')(Orders);
    class Root {}
    nest.Module({ imports: module ? [module()] : [], controllers: [Orders], providers: [Service] })(Root);
    const app = await NestFactory.create(Root, { logger: false });
    await app.listen(0, '127.0.0.1');
    // Connections wait for their turn.
    app.getHttpServer().keepAliveTimeout = 0;
    ports[name] = app.getHttpServer().address().port;
  }
  let [cpu, heap] = [process.cpuUsage(), 0];
  process.on('message', (message) => {
    if (message === 'begin') {
      globalThis.gc();
      [cpu, heap] = [process.cpuUsage(), process.memoryUsage().heapUsed];
      process.send('begun');
    } else {
      const { user, system } = process.cpuUsage(cpu);
      process.send({ cpu: user + system, heap: process.memoryUsage().heapUsed - heap });
    }
  });
  process.send(ports);
}
