import { BEGIN, poolOfQuery } from '../program/pools.js';
import { sqlOf } from '../program/transactions.js';
import type { Check } from './rule.js';

/** Programs that run alone, one query after another: the pool gives them the same connection each time. */
const ALONE = /(?:^|\/)(?:scripts?|migrations?|seed(?:s|ers?)?|bin)\/|(?:migrat|seed|populate)\w*\.[cm]?[jt]sx?$/i;

export const noTransactionOnPool: Check = {
  name: 'no-transaction-on-pool',
  description: 'A transaction runs on one connection, not on the pool',
  fix: 'Check out one connection (`const client = await pool.connect()`), send `BEGIN`, the queries and `COMMIT` through it, and release it in `finally`.',
  *find(file, project) {
    if (ALONE.test(file.path)) return;
    for (const call of file.all('CallExpression')) {
      if (!BEGIN.test(sqlOf(call) ?? '')) continue;
      const pool = poolOfQuery(project, file, call);
      if (pool !== undefined)
        yield {
          node: call,
          problem: `\`${pool}\` sends each query on whichever connection is free: with two requests at the same time \`BEGIN\`, the queries and \`COMMIT\` run on different ones, so half of the work stays after a \`ROLLBACK\`, or is lost in a transaction that another request rolls back`,
        };
    }
  },
};
