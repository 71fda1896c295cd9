// These handlers are wrong on purpose. A comment behind a line names the fault whose cause it is. The module is loaded by Node itself,
// which knows the lines of this file, so it imports nothing of the packages that are tested.
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const poolOf = (scope) => scope.resolve('IDatabasePool');
const connectionOf = (scope) => scope.resolve('IConnection');

export class PriceList {
  constructor() {
    throw new RangeError('the price list of a customer'); // fault: failed service
  }
}

export class Upload {
  dispose() {
    throw new EvalError('the file of a customer'); // fault: failed disposal
  }
}

export class Visits /* fault: growing */ {
  #seen = new Map();
  note() {
    this.#seen.set(this.#seen.size, 'a visit');
  }
}

export class Printer /* fault: hanging disposal */ {
  dispose() {
    return sleep(3000);
  }
}

export class Greeter {
  constructor(user /* fault: captive */) {
    this.user = user;
  }
}

const COUNT =
  'WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < $1) SELECT max(n) FROM counted';

const PAGE = 'SELECT a.id FROM products a, products b LIMIT 20';

export const createHandlers = ({ runInTransaction, afterCommit, app, slow, isPostgres }) => ({
  fine: () => undefined,

  'n-plus-one': async (scope) => {
    const products = await poolOf(scope).query('SELECT id FROM products ORDER BY id');
    for (const { id } of products) await poolOf(scope).query('SELECT level FROM products WHERE id = $1', [id]); // fault: N+1
  },

  events: async (scope, response) => {
    const pool = poolOf(scope);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (; !response.closed; await sleep(10)) response.write(`data: ${await pool.query('SELECT 1 AS one')}\n\n`);
  },

  leak: () => void app.createScope({ tags: ['job'] }), // fault: leak

  waits: (scope) =>
    runInTransaction(scope, (inner) => connectionOf(inner).query('UPDATE products SET level = 1 WHERE id = 1')),

  'holds-a-connection': (scope) =>
    runInTransaction(scope, async (inner) => {
      await connectionOf(inner).query('SELECT 1 AS one'); // fault: pool
      await sleep(900);
    }),
  'wants-a-connection': (scope) => runInTransaction(scope, (inner) => connectionOf(inner).query('SELECT 2 AS two')),

  'holds-a-report': async (scope) => {
    const connection = await scope.resolve('IReports').getConnection(); // fault: other pool
    await sleep(700);
    connection.release();
  },
  'wants-a-report': async (scope) => {
    (await scope.resolve('IReports').getConnection()).release();
  },

  'held-connection': async (scope) => {
    await scope.resolve('IReports').getConnection(); // fault: held connection
  },

  'deadlock-up': (scope) => changeBoth(runInTransaction, scope, 1, 2),
  'deadlock-down': (scope) => changeBoth(runInTransaction, scope, 2, 1),

  'failed-service': (scope) => void scope.resolve('IInvoices'),

  'missing-key': (scope) => void scope.resolve('IMailer'), // fault: missing key

  aborted: async (scope) => {
    await poolOf(scope).query('SELECT 3 AS three'); // fault: aborted
    await sleep(3000);
  },

  export: async (scope, response) => {
    async function* pages() {
      for (; ; await sleep(20)) {
        const rows = await runInTransaction(scope, (inner) => connectionOf(inner).query(PAGE)); // fault: export
        yield JSON.stringify(rows);
      }
    }
    await pipeline(pages, response);
  },

  'failed-commit': (scope) =>
    runInTransaction(
      scope,
      (inner) => connectionOf(inner).query('INSERT INTO orders (id, product) VALUES (1, 4711)'), // fault: failed commit
    ),

  'failed-handler': (scope) => scope.resolve('IOrders').newest.status, // fault: failed handler

  'hanging-disposal': (scope) => void scope.resolve('IPrinter'),

  growing: (scope) => scope.resolve('IVisits').note(),

  'many-rows': (scope) => poolOf(scope).query('SELECT a.id FROM products a, products b, products c, products d'), // fault: many rows

  raised: async (scope) => {
    await poolOf(scope).query('SELECT refuse()'); // fault: raised
  },

  conflict: async (scope) => {
    const change = async (inner, { number }) => {
      await connectionOf(inner).query('SELECT level FROM products WHERE id = 11');
      if (number === 1) await sleep(100);
      await connectionOf(inner).query('UPDATE products SET level = 11 WHERE id = 11'); // fault: conflict
    };
    await runInTransaction(scope, change, { isolation: 'repeatable read' });
  },

  refused: (scope) =>
    runInTransaction(scope, async (inner) => {
      await connectionOf(inner).query('SELECT 4 AS four');
      throw Object.assign(new Error('sold out'), { status: 409 });
    }),

  'failed-statement': async (scope) => {
    await poolOf(scope).query('INSERT INTO products (id, level) VALUES (1, 1)'); // fault: failed statement
  },

  'after-commit': async (scope) => {
    let kept;
    await runInTransaction(scope, async (inner) => {
      kept = connectionOf(inner);
      await kept.query('SELECT 5 AS five');
    });
    // Nobody awaits it, so it comes after the response.
    void sleep(50).then(() => kept.query('SELECT 6 AS six').catch(() => undefined)); // fault: after commit
  },

  'idle-transaction': (scope) =>
    runInTransaction(scope, async (inner) => {
      await connectionOf(inner).query('SELECT 7 AS seven');
      await fetch(`${slow()}/?ms=1300`); // fault: idle transaction
    }),

  'calls-in-a-row': async () => {
    for (let i = 0; i < 6; i++) await fetch(`${slow()}/?ms=20`); // fault: calls in a row
  },

  'slow-call': () => fetch(`${slow()}/?ms=1300`), // fault: slow call

  'blocked-loop': () => {
    let sum = 0;
    for (let i = 0; i < 600_000_000; i++) sum += Math.sqrt(i); // fault: blocked loop
    return sum > 0 ? 200 : 500;
  },

  'slow-statement': async (scope) => {
    const wait = isPostgres ? 'SELECT pg_sleep($1 * 0.0000003)' : COUNT;
    // SQLite cannot sleep: it counts to four times as much, until that takes long enough on this machine.
    for (let most = 4e6, took = 0; took < 1000; most *= 4) {
      const begun = performance.now();
      await poolOf(scope).query(wait, [most]); // fault: slow statement
      took = performance.now() - begun;
    }
  },

  'second-connection': (scope) =>
    runInTransaction(scope, async (inner) => {
      await connectionOf(inner).query('SELECT 10 AS ten');
      await sleep(100);
      await poolOf(scope).query('UPDATE products SET level = 7 WHERE id = 7'); // fault: second connection
    }),

  'error-committed': async (scope) => {
    await runInTransaction(
      scope,
      (inner) => connectionOf(inner).query('UPDATE products SET level = 8 WHERE id = 8'), // fault: error committed
    );
    return 404;
  },

  'failed-callback': (scope) =>
    runInTransaction(scope, async (inner) => {
      afterCommit(inner, () => scope.resolve('IOrders').newest.trim()); // fault: failed callback
    }),

  'failed-disposal': (scope) => void scope.resolve('IUpload'),

  'hidden-failure': () => fetch(`${slow()}/?status=503`, { method: 'POST' }), // fault: hidden failure

  unhandled: () => void sleep(10).then((order) => order.status), // fault: unhandled

  'repeated-call': async () => {
    for (const limit of [50, 5000]) {
      const limited = { method: 'POST', signal: AbortSignal.timeout(limit) };
      await fetch(`${slow()}/?ms=300`, limited).catch(() => undefined); // fault: repeated call
    }
  },

  'never-stopped': (scope) => {
    const pool = poolOf(scope);
    const timer = setInterval(() => {
      pool.query('SELECT 11 AS eleven').catch(() => undefined); // fault: never stopped
    }, 50);
    void sleep(3000).then(() => clearInterval(timer));
  },

  finding: (scope) =>
    runInTransaction(scope, async (inner) => {
      await connectionOf(inner).query('SELECT 8 AS eight');
      await poolOf(scope).query('SELECT 9 AS nine'); // fault: finding
    }),
});

async function changeBoth(run, scope, first, second) {
  await run(scope, async (inner, { number }) => {
    await connectionOf(inner).query('UPDATE products SET level = 5 WHERE id = $1', [first]);
    // The other one has locked its first row by then.
    if (number === 1) await sleep(100);
    await connectionOf(inner).query('UPDATE products SET level = 6 WHERE id = $1', [second]); // fault: deadlock
  });
}

/** Work outside of requests that is wrong on purpose. */
export const createJobs = ({ app, inScope, runInTransaction, inWorkContext, slow }) => ({
  'runs overlap': () => {
    const timer = setInterval(() => inScope(app, {}, () => sleep(250)), 120); // fault: runs overlap
    return sleep(1000).then(() => clearInterval(timer));
  },

  'fails each time': async () => {
    for (let run = 0; run < 4; run++) {
      await inScope(app, { tags: ['report'] }, async (scope) => {
        await poolOf(scope).query('SELECT 1');
        throw new RangeError('the report is empty'); // fault: fails each time
      }).catch(() => undefined);
    }
  },

  'failed handler': () =>
    runInTransaction(app, async (scope) => {
      await connectionOf(scope).query('INSERT INTO orders VALUES (2, 1)');
      throw new SyntaxError('the import is wrong'); // fault: failed handler of work
    }).catch(() => undefined),

  leak: async () => {
    for (let run = 0; run < 20; run++) poolOf(app.createScope({ tags: ['expiry'] })); // fault: leak of work
    await sleep(400);
  },

  // As a worker does it by itself.
  'N+1': async () => {
    const scope = app.createScope({ tags: ['worker'] });
    await sleep(1);
    for (let id = 0; id < 6; id++) await poolOf(scope).query('SELECT id FROM orders WHERE id = $1', [id]); // fault: N+1 of work
    await scope.dispose();
  },

  // As the relay of an outbox does it.
  'hidden failure': () => {
    const deliver = async () => {
      await fetch(`${slow()}/?status=422`, { method: 'POST' }); // fault: hidden failure of work
    };
    return inWorkContext(() => ({ name: 'delivery of order.placed', by: deliver }), deliver);
  },

  fine: async () => {
    for (let run = 0; run < 4; run++)
      await inScope(app, { tags: ['fine'] }, () => runInTransaction(app, () => sleep(1)));
  },
});
