import type { Result, Session, Values } from './database.js';

type Program = (session: Session, params: readonly unknown[]) => Promise<Result> | Result;

/** A statement of the service: its text, and what it does. */
export interface Statement {
  /** In reports. */
  readonly name: string;
  readonly program: Program;
}

/** An error as the driver of PostgreSQL gives it. */
export function sqlError(message: string, sqlState: string): Error {
  return Object.assign(new Error(message), { code: sqlState });
}

interface Item {
  readonly productId: string;
  readonly quantity: number;
  readonly position: number;
}

const nothing = (command: string): Result => ({ command, rows: [] });

interface Line extends Omit<Item, 'productId'> {
  readonly product_id: string;
}

const itemsOf = (json: unknown): Item[] =>
  (JSON.parse(String(json)) as Line[]).map(({ product_id: productId, ...line }) => ({ ...line, productId }));

const INSERT_ORDER: Program = async (session, [id, requestId, createdAt]) => {
  await session.insert('orders', String(id), { id, request_id: requestId, created_at: createdAt });
  return nothing('INSERT');
};

const insertItems = async (session: Session, orderId: unknown, json: unknown): Promise<Result> => {
  if (!session.find('orders', String(orderId))) throw sqlError('no such order', '23503');
  for (const { position, productId, quantity } of itemsOf(json)) {
    const values = { order_id: orderId, position, product_id: productId, quantity };
    await session.insert('order_items', `${String(orderId)}/${position}`, values);
  }
  return nothing('INSERT');
};

const record = async (session: Session, requestId: unknown, items: readonly Item[]): Promise<void> => {
  for (const { productId, quantity } of items) {
    // As `pg` gives a bigint.
    const values = { request_id: requestId, product_id: productId, quantity: String(quantity) };
    await session.insert('reservations', `${String(requestId)}/${productId}`, values);
  }
};

/**
 * UPDATE sees the row as it is once nobody else has it locked, and not as it was when the statement began. But it first computes the new
 * level from the latter, and checks it.
 */
const updateLevel = async (session: Session, before: Values, change: (level: number) => number): Promise<void> => {
  const { product_id: product } = before;
  const checked = (level: number): number => {
    if (level < 0) throw sqlError('stock_level_check', '23514');
    return level;
  };
  checked(change(Number(before['level'])));
  const row = await session.lock('stock', String(product));
  row.pending = { values: { product_id: product, level: checked(change(Number(row.seenBy(session)?.['level']))) } };
};

const levelsOf = (session: Session, items: readonly Item[]): Values[] =>
  items.map(({ productId }) => session.find('stock', productId)).filter((row) => row !== undefined);

const byProduct = (one: Item, other: Item): number => (one.productId < other.productId ? -1 : 1);

const takeAndRecord =
  ([lock = '', base = '', guard = '']: readonly string[]): Program =>
  async (session, [requestId, json]) => {
    const wanted = itemsOf(json).toSorted(byProduct);
    const quantities = new Map(wanted.map(({ productId, quantity }) => [productId, quantity]));
    const before = levelsOf(session, wanted);
    if (lock.endsWith('FOR UPDATE'))
      for (const { product_id: product } of before) await session.lock('stock', String(product));
    const tracked = levelsOf(session, wanted);
    const quantityOf = (row: Values): number => Number(quantities.get(String(row['product_id'])));
    const isShort = tracked.some((row) => Number(row['level']) < quantityOf(row));
    if (!isShort || guard === '')
      for (const [at, row] of tracked.entries())
        await updateLevel(
          session,
          before[at] ?? row,
          (level) => (base === 'stock' ? level : Number(row['level'])) - quantityOf(row),
        );
    if (!isShort) await record(session, requestId, wanted);
    return { command: 'SELECT', rows: tracked };
  };

const insertKey: Program = async (session, [key, fingerprint, lifetimeMs]) => {
  const now = session.database.date();
  const row = await session.lock('idempotency_keys', String(key), 100);
  const known = row.seenBy(session);
  if (known && Number(known['created_at']) > now - Number(lifetimeMs))
    return { command: 'SELECT', rows: [inserted('0')] };
  row.pending = { values: { key, fingerprint, status: null, headers: null, body: null, created_at: String(now) } };
  return { command: 'SELECT', rows: [inserted('1')] };
};

const inserted = (count: string): Values => ({ inserted: count, lock_timeout: '0' });

const removeKeys: Program = async (session, [after, lifetimeMs]) => {
  const expiry = session.database.date() - Number(lifetimeMs);
  const isOld = (row: Values | undefined): boolean =>
    row !== undefined && Number(row['created_at']) > Number(after) && Number(row['created_at']) <= expiry;
  const removed: Values[] = [];
  for (const { key } of [...session.rows('idempotency_keys')].filter(isOld)) {
    const row = await session.lock('idempotency_keys', String(key));
    const values = row.seenBy(session);
    if (!values || !isOld(values)) continue;
    row.pending = { values: undefined };
    removed.push({ created_at: values['created_at'] });
  }
  return { command: 'DELETE', rows: removed };
};

const keepResponse: Program = async (session, [key, status, headers, body]) => {
  if (!session.find('idempotency_keys', String(key))) return nothing('UPDATE');
  const row = await session.lock('idempotency_keys', String(key));
  const values = row.seenBy(session);
  if (values) row.pending = { values: { ...values, status, headers, body } };
  return nothing('UPDATE');
};

const insertUser: Program = async (session, [id, name, email]) => {
  await session.insert('users', String(id), { id, name, email });
  return nothing('INSERT');
};

const usersAfter =
  (after: unknown, limit: number) =>
  (session: Session): Result => {
    const users = [...session.rows('users')].filter(({ id }) => String(id) > String(after));
    const sorted = users.toSorted((one, other) => (String(one['id']) < String(other['id']) ? -1 : 1));
    return { command: 'SELECT', rows: sorted.slice(0, limit) };
  };

const found = (row: Values | undefined): Result => ({ command: 'SELECT', rows: row ? [row] : [] });

const ROWS = (parameter: string, before = ''): string =>
  `(SELECT ${before}value ->> 'product_id' AS product_id, CAST(value ->> 'quantity' AS integer) AS quantity
    FROM json_array_elements(CAST(${parameter} AS json)) AS elements)`;
const WANTED = (parameter: string): string => `${ROWS(parameter)} AS item`;
const ORDER = 'INSERT INTO orders (id, request_id, created_at) VALUES ($1, $2, $3)';
const ITEMS = (parameter: string): string =>
  `INSERT INTO order_items (order_id, position, product_id, quantity)
   SELECT $1, position, product_id, quantity
   FROM ${ROWS(parameter, "CAST(value ->> 'position' AS integer) AS position, ")} AS line`;

/**
 * The texts, but for white space. What is in braces may be one of several: the mutants of the service change what a statement locks
 * and checks, and the database has to do what they say.
 */
const STATEMENTS: readonly (readonly [name: string, text: string, make: (given: readonly string[]) => Program])[] = [
  [
    'order with items',
    `WITH placed AS (${ORDER}) ${ITEMS('$4')}`,
    () =>
      async (session, [id, requestId, createdAt, json]) => {
        await INSERT_ORDER(session, [id, requestId, createdAt]);
        return insertItems(session, id, json);
      },
  ],
  ['order', ORDER, () => INSERT_ORDER],
  [
    'items',
    ITEMS('$2'),
    () =>
      (session, [id, json]) =>
        insertItems(session, id, json),
  ],
  [
    'take stock',
    `WITH wanted AS (
       SELECT product_id, quantity FROM ${WANTED('$2')}
     ), tracked AS (
       SELECT product_id, level FROM stock WHERE product_id = ANY (ARRAY(SELECT product_id FROM wanted))
       {ORDER BY product_id FOR UPDATE|ORDER BY product_id|}
     ), short AS (
       SELECT product_id FROM tracked JOIN wanted USING (product_id) WHERE level < quantity
     ), taken AS (
       UPDATE stock SET level = {tracked|stock}.level - quantity FROM tracked JOIN wanted USING (product_id)
       WHERE stock.product_id = tracked.product_id AND stock.product_id = ANY (ARRAY(SELECT product_id FROM wanted))
       {AND NOT EXISTS (SELECT 1 FROM short)|}
     ), recorded AS (
       INSERT INTO reservations (request_id, product_id, quantity)
       SELECT $1, product_id, quantity FROM wanted WHERE NOT EXISTS (SELECT 1 FROM short)
     )
     SELECT product_id, level FROM tracked`,
    takeAndRecord,
  ],
  [
    'take',
    `UPDATE stock SET level = level - quantity FROM ${WANTED('$1')} WHERE stock.product_id = item.product_id`,
    () =>
      async (session, [json]) => {
        const items = itemsOf(json);
        for (const row of levelsOf(session, items)) {
          const item = items.find(({ productId }) => productId === row['product_id']);
          await updateLevel(session, row, (level) => level - Number(item?.quantity));
        }
        return nothing('UPDATE');
      },
  ],
  [
    'record',
    `INSERT INTO reservations (request_id, product_id, quantity)
     SELECT $1, product_id, quantity FROM ${WANTED('$2')}`,
    () =>
      async (session, [requestId, json]) => {
        await record(session, requestId, itemsOf(json));
        return nothing('INSERT');
      },
  ],
  [
    'key',
    `WITH before AS MATERIALIZED (SELECT current_setting('lock_timeout') AS value), stored AS (
       INSERT INTO idempotency_keys (key, fingerprint, created_at)
       SELECT CAST($1 AS text), CAST($2 AS text), CAST(extract(epoch FROM statement_timestamp()) * 1000 AS bigint) FROM before
       WHERE set_config('lock_timeout', '100ms', true) IS NOT NULL
       ON CONFLICT (key) DO UPDATE
       SET fingerprint = excluded.fingerprint, status = NULL, headers = NULL, body = NULL, created_at = excluded.created_at
       WHERE idempotency_keys.created_at <= excluded.created_at - CAST($3 AS bigint)
       RETURNING key
     ), counted AS MATERIALIZED (SELECT count(*) AS inserted FROM stored)
     SELECT inserted, set_config('lock_timeout', CASE WHEN inserted >= 0 THEN value END, true) AS lock_timeout
     FROM counted, before`,
    () => insertKey,
  ],
  [
    'find key',
    'SELECT fingerprint, status, headers, body FROM idempotency_keys WHERE key = $1 LIMIT 1',
    () =>
      (session, [key]) => {
        const row = session.find('idempotency_keys', String(key));
        if (!row) return found(undefined);
        const { fingerprint, status, headers, body } = row;
        return found({ fingerprint, status, headers, body });
      },
  ],
  ['response', 'UPDATE idempotency_keys SET status = $2, headers = $3, body = $4 WHERE key = $1', () => keepResponse],
  [
    'expired keys',
    `DELETE FROM idempotency_keys WHERE created_at > $1 AND created_at <= (
       SELECT max(created_at) FROM (
         SELECT created_at FROM idempotency_keys WHERE created_at > $1 AND created_at <= CAST(extract(epoch FROM statement_timestamp()) * 1000 AS bigint) - CAST($2 AS bigint) ORDER BY created_at LIMIT 1000
       ) AS oldest
     ) RETURNING created_at`,
    () => removeKeys,
  ],
  ['user', 'INSERT INTO users (id, name, email) VALUES ($1, $2, $3)', () => insertUser],
  [
    'find user',
    'SELECT id, name, email FROM users WHERE id = $1 LIMIT 1',
    () =>
      (session, [id]) =>
        found(session.find('users', String(id))),
  ],
  [
    'users',
    'SELECT id, name, email FROM users WHERE id > $1 ORDER BY id LIMIT 500',
    () =>
      (session, [after]) =>
        usersAfter(after, 500)(session),
  ],
  [
    // No statement of the service: somebody stores what has arrived.
    'delivery',
    'UPDATE stock SET level = level + $2 WHERE product_id = $1',
    () =>
      async (session, [product, quantity]) => {
        const row = session.find('stock', String(product));
        if (row) await updateLevel(session, row, (level) => level + Number(quantity));
        return nothing('UPDATE');
      },
  ],
  ['probe', 'UPDATE migration_lock SET id = id WHERE id < 0', () => () => nothing('UPDATE')],
];

/** Without the types of parameters and literals, which are for PostgreSQL only. */
const oneLine = (text: string): string =>
  text
    .replaceAll(/CAST\((\$\d+|'\w+') AS \w+\)/g, '$1')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ (?=\))|(?<=\() /g, '')
    .trim();

/** Matches the text, and gives what stands for each pair of braces. */
function patternOf(text: string): RegExp {
  const escaped = oneLine(text).replaceAll(/[.*+?^$()[\]\\]/g, String.raw`\$&`);
  const pattern = escaped.replaceAll(/ ?\{([^}]*)\} ?/g, (_, choices: string) => ` ?(${choices}) ?`);
  return new RegExp(`^${pattern}$`);
}

const PATTERNS = STATEMENTS.map(([name, text, make]) => ({ name, pattern: patternOf(text), make }));

/** A text of the statement, with one of what may be in each place. */
export function textOf(name: string, choose: (choices: readonly string[]) => string): string {
  const [, text = ''] = STATEMENTS.find(([each]) => each === name) ?? [];
  return text.replaceAll(/\{([^}]*)\}/g, (_, choices: string) => choose(choices.split('|')));
}

const known = new Map<string, Statement | undefined>();

/** What the statement does; undefined where the service has none of this text. */
export function programOf(sql: string): Statement | undefined {
  if (!known.has(sql)) known.set(sql, recognized(oneLine(sql)));
  return known.get(sql);
}

function recognized(sql: string): Statement | undefined {
  for (const { name, pattern, make } of PATTERNS) {
    const given = pattern.exec(sql)?.slice(1);
    if (given) return { name, program: make(given) };
  }
  return undefined;
}
