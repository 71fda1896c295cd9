// These handlers are wrong on purpose. A comment behind a line names the fault whose cause it is. The module is loaded by Node itself,
// which knows the lines of this file, so it imports nothing of the packages that are tested.
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const agent = new Agent({ maxSockets: 1 });

const poolOf = (scope) => scope.resolve('IDatabasePool');
const connectionOf = (scope) => scope.resolve('IConnection');

export class PriceList {
  constructor() {
    throw new RangeError('the price list of a customer'); // fault: failed service
  }
}
export class Invoices {
  constructor(prices) {
    this.prices = prices;
  }
}

export class Upload {
  dispose() {
    throw new EvalError('the file of a customer'); // fault: failed disposal
  }
}

export class Greeter {
  constructor(user /* fault: captive */) {
    this.user = user;
  }
}

/** An error of the application with a status. */
class SoldOut extends Error {
  status = 409;
}

const COUNT_TO_14_MILLION =
  'WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 14000000) SELECT max(n) AS n FROM counted';

export const createHandlers = ({ runInTransaction, afterCommit, app, slow }) => ({
  fine: () => 200,

  'n-plus-one': async (scope) => {
    const products = await poolOf(scope).query('SELECT id FROM products ORDER BY id');
    for (const { id } of products) await poolOf(scope).query('SELECT level FROM products WHERE id = $1', [id]); // fault: N+1
    return 200;
  },

  leak: () => {
    app.createScope({ tags: ['job'] }); // fault: leak
    return 200;
  },

  holds: async (scope) => {
    await runInTransaction(scope, async (inner) => {
      await connectionOf(inner).query('UPDATE products SET level = level - 1 WHERE id = 1'); // fault: lock
      await sleep(900);
    });
    return 200;
  },
  waits: async (scope) => {
    await runInTransaction(scope, (inner) =>
      connectionOf(inner).query('UPDATE products SET level = level + 1 WHERE id = 1'),
    );
    return 200;
  },

  'holds-a-connection': async (scope) => {
    await runInTransaction(scope, async (inner) => {
      await connectionOf(inner).query('SELECT 1 AS one'); // fault: pool
      await sleep(900);
    });
    return 200;
  },
  'wants-a-connection': async (scope) => {
    await runInTransaction(scope, (inner) => connectionOf(inner).query('SELECT 2 AS two'));
    return 200;
  },

  'deadlock-up': (scope) => changeBoth(runInTransaction, scope, 1, 2),
  'deadlock-down': (scope) => changeBoth(runInTransaction, scope, 2, 1),

  'failed-service': (scope) => (scope.resolve('IInvoices') ? 200 : 500),

  'missing-key': (scope) => {
    scope.resolve('IMailer'); // fault: missing key
    return 200;
  },

  aborted: async (scope) => {
    await poolOf(scope).query('SELECT 3 AS three'); // fault: aborted
    await sleep(3000);
    return 200;
  },

  'failed-commit': async (scope) => {
    await runInTransaction(
      scope,
      (inner) => connectionOf(inner).query('INSERT INTO orders (id, product) VALUES (1, 4711)'), // fault: failed commit
    );
    return 200;
  },

  'failed-handler': (scope) => {
    const order = scope.resolve('IOrders').newest;
    return order.status; // fault: failed handler
  },

  refused: async (scope) => {
    await runInTransaction(scope, async (inner) => {
      await connectionOf(inner).query('SELECT 4 AS four');
      throw new SoldOut('sold out');
    });
    return 200;
  },

  'failed-statement': async (scope) => {
    await poolOf(scope).query('INSERT INTO products (id, level) VALUES (1, 1)'); // fault: failed statement
    return 200;
  },

  'after-commit': async (scope) => {
    let kept;
    await runInTransaction(scope, async (inner) => {
      kept = connectionOf(inner);
      await kept.query('SELECT 5 AS five');
    });
    await kept?.query('SELECT 6 AS six').catch(() => undefined); // fault: after commit
    return 200;
  },

  'idle-transaction': async (scope) => {
    await runInTransaction(scope, async (inner) => {
      await connectionOf(inner).query('SELECT 7 AS seven');
      await fetch(`${slow()}/?ms=1300`); // fault: idle transaction
    });
    return 200;
  },

  'calls-in-a-row': async () => {
    for (let i = 0; i < 6; i++) await fetch(`${slow()}/?ms=20`); // fault: calls in a row
    return 200;
  },

  'slow-call': async () => {
    await fetch(`${slow()}/?ms=1300`); // fault: slow call
    return 200;
  },

  'blocked-loop': () => {
    let sum = 0;
    for (let i = 0; i < 600_000_000; i++) sum += Math.sqrt(i); // fault: blocked loop
    return sum > 0 ? 200 : 500;
  },

  'slow-statement': async (scope) => {
    await poolOf(scope).query(COUNT_TO_14_MILLION); // fault: slow statement
    return 200;
  },

  'second-connection': async (scope) => {
    await runInTransaction(scope, async (inner) => {
      await connectionOf(inner).query('SELECT 10 AS ten');
      await sleep(100);
      await poolOf(scope).query('UPDATE products SET level = 7 WHERE id = 7'); // fault: second connection
    });
    return 200;
  },

  'error-committed': async (scope) => {
    await runInTransaction(
      scope,
      (inner) => connectionOf(inner).query('UPDATE products SET level = 8 WHERE id = 8'), // fault: error committed
    );
    return 404;
  },

  'failed-callback': async (scope) => {
    await runInTransaction(scope, async (inner) => {
      afterCommit(inner, () => scope.resolve('IOrders').newest.trim()); // fault: failed callback
    });
    return 200;
  },

  'failed-disposal': (scope) => (scope.resolve('IUpload') ? 200 : 500),

  'hidden-failure': async () => {
    await fetch(`${slow()}/?status=503`, { method: 'POST' }); // fault: hidden failure
    return 200;
  },

  retries: async () => {
    for (let i = 0; i < 4; i++) await fetch(`${slow()}/?status=503`, { method: 'POST' }); // fault: retries
    return 502;
  },

  'few-sockets': () =>
    new Promise((resolve, reject) => {
      const url = `${slow()}/?ms=150`;
      get(url, { agent }, (response) => response.resume().on('end', () => resolve(200))).on('error', reject); // fault: few sockets
    }),

  'never-stopped': (scope) => {
    const pool = poolOf(scope);
    let left = 60;
    const timer = setInterval(() => {
      if (left-- === 0) clearInterval(timer);
      else pool.query('SELECT 11 AS eleven').catch(() => undefined); // fault: never stopped
    }, 50).unref();
    return 200;
  },

  finding: async (scope) => {
    await runInTransaction(scope, async (inner) => {
      await connectionOf(inner).query('SELECT 8 AS eight');
      await poolOf(scope).query('SELECT 9 AS nine'); // fault: finding
    });
    return 200;
  },
});

async function changeBoth(run, scope, first, second) {
  await run(scope, async (inner, { number }) => {
    await connectionOf(inner).query('UPDATE products SET level = 5 WHERE id = $1', [first]);
    // The other one has locked its first row by then.
    if (number === 1) await sleep(100);
    await connectionOf(inner).query('UPDATE products SET level = 6 WHERE id = $1', [second]); // fault: deadlock
  });
  return 200;
}

/** The argument of a relay of the outbox. */
export async function deliver() {
  throw new URIError('the address of a customer'); // fault: outbox
}
