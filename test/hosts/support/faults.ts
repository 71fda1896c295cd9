/** The texts and what takes their place: more than one pair in some. */
type Edit = readonly string[];

// Changes to `shop.mjs`, as pull requests make them. The line with `HERE` is the one that a reviewer needs.

const HERE = '// HERE';
const PRICE = "'SELECT price FROM products WHERE id = $1'";

/** The changes after which one statement runs for each row. */
export const loops: readonly Edit[] = [
  [
    'const items = await pool.query(`SELECT * FROM items WHERE order_id IN (${list(ids.length)})`, ids);',
    `const items = [];
     for (const id of ids) items.push(await pool.query('SELECT * FROM items WHERE order_id = $1', [id])); ${HERE}`,
  ],
  [
    'const items = await pool.query(`SELECT * FROM items WHERE order_id IN (${list(ids.length)})`, ids);',
    `const itemsOf = (id) => pool.query('SELECT * FROM items WHERE order_id = $1', [id]); ${HERE}
     const items = await Promise.all(ids.map(itemsOf));`,
  ],
  [
    'await db.query(`SELECT level FROM stock WHERE product IN (${list(products.length)})${forUpdate}`, products);',
    `for (const one of products) await db.query('SELECT level FROM stock WHERE product = $1 FOR UPDATE', [one]); ${HERE}`,
  ],
  [
    'await db.query(`UPDATE stock SET level = level - 1 WHERE product IN (${list(products.length)})`, products);',
    `for (const one of products) await db.query('UPDATE stock SET level = level - 1 WHERE product = $1', [one]); ${HERE}`,
  ],
  [
    'await db.query(`INSERT INTO items (order_id, product, quantity) VALUES ${values}`);',
    `for (const one of products) {
       await db.query('INSERT INTO items (order_id, product, quantity) VALUES ($1, $2, 1)', [id, one]); ${HERE}
     }`,
  ],
  [
    'const id = (orders += 1);',
    `const id = (orders += 1);\nfor (const one of products) await db.query(${PRICE}, [one]); ${HERE}`,
  ],
  [
    'res.json({ ...user, placed });',
    `for (const { id } of placed) await pool.query('SELECT * FROM items WHERE order_id = $1', [id]); ${HERE}
     res.json({ ...user, placed });`,
  ],
  [
    'await db.query(`UPDATE stock SET level = level + 1 WHERE product IN (${list(products.length)})`, products);',
    `for (const one of products) await db.query('UPDATE stock SET level = level + 1 WHERE product = $1', [one]); ${HERE}`,
  ],
  [
    'res.json(sums);',
    `for (const { buyer } of sums) await pool.query('SELECT email FROM users WHERE id = $1', [buyer]); ${HERE}\nres.json(sums);`,
  ],
  [
    'const id = (orders += 1);',
    `const id = (orders += 1);\nfor (const one of products) await db.query(\`SELECT sku FROM products WHERE id = \${one}\`); ${HERE}`,
  ],
];

const PAID = `await db.query("UPDATE orders SET status = 'paid' WHERE id = $1", [req.params.id]);`;
const CHARGED = "await db.query('UPDATE accounts SET balance = balance - 1 WHERE id = $1', [req.body.account]);";
const VISITED = "await db.query('UPDATE users SET visits = visits + 1 WHERE id = $1', [req.body.user]);";
const REFUNDED = `await db.query("UPDATE orders SET status = 'refunded' WHERE id = $1", [req.body.order]);`;
const CREDITED = "await db.query('UPDATE accounts SET balance = balance + 1 WHERE id = $1', [req.body.account]);";
const TRANSFERRED = "await db.query('UPDATE accounts SET balance = balance + 1 WHERE id = $1 AND balance >= 0', [to]);";
const STOCKED = 'await db.query("UPDATE stock SET level = level + 1 WHERE product = 1");';
const JOINED = "await db.query('INSERT INTO accounts (id, balance) VALUES ($1, 0)', [req.body.id]);";
const BOUGHT = "await db.query('INSERT INTO orders (id, buyer) VALUES ($1, $2)', [id, buyer]);";
const LOCKED =
  'await db.query(`SELECT level FROM stock WHERE product IN (${list(products.length)})${forUpdate}`, products);';

/** Two tables are locked in the order that is the reverse of another route's. */
export const deadlocks: readonly Edit[] = [
  [`${PAID}\n  ${CHARGED}`, `${CHARGED}\n${PAID} ${HERE}`],
  [`${REFUNDED}\n  ${CREDITED}`, `${CREDITED}\n${REFUNDED} ${HERE}`],
  [TRANSFERRED, `${TRANSFERRED}\nawait db.query("UPDATE orders SET status = 'late' WHERE buyer = 9"); ${HERE}`],
  [TRANSFERRED, `${TRANSFERRED}\n${STOCKED} ${HERE}`],
  [VISITED, `${VISITED}\n${STOCKED} ${HERE}`],
  [CHARGED, `${CHARGED}\n${STOCKED} ${HERE}`],
  [
    JOINED,
    `${JOINED}\nawait db.query('UPDATE users SET visits = 0 WHERE id = 9');
     await db.query("UPDATE coupons SET uses = 0 WHERE code = 'none'"); ${HERE}`,
  ],
  [LOCKED, `await db.query('SELECT id FROM accounts WHERE id = $1 FOR UPDATE', [buyer]);\n${LOCKED} ${HERE}`],
  [
    "app.get('/products'",
    `app.post('/restock', withTransaction(), async (req, res) => {
       const db = req.transactionScope.resolve('IConnection');
       await db.query('SELECT id FROM users WHERE id = 1 FOR NO KEY UPDATE');
       ${STOCKED} ${HERE}
       res.json({});
     });
     app.get('/products'`,
    "  () => send('GET', '/login?email=ada@a'),",
    "  () => send('GET', '/login?email=ada@a'), () => send('POST', '/restock'),",
  ],
  [
    JOINED,
    `${JOINED}\nawait db.query('DELETE FROM accounts WHERE id = 99');\nawait db.query('DELETE FROM orders WHERE id = 99'); ${HERE}`,
  ],
];

/** A rollback does not undo them. */
export const effects: readonly Edit[] = [
  [JOINED, `${JOINED}\nawait fetch(\`\${other}/welcome\`); ${HERE}`],
  ['afterCommit(req.transactionScope, notify);', `await (await fetch(\`\${other}/mails\`)).text(); ${HERE}`],
  [
    CHARGED,
    `${CHARGED}\nawait new Promise((done) => get(\`\${other}/bank\`, (response) => response.resume().on('end', done))); ${HERE}`,
  ],
  [CREDITED, `${CREDITED}\ncache.write('PUBLISH'); ${HERE}`],
  [VISITED, `${VISITED}\nawait appendFile(file, 'redeemed'); ${HERE}`],
  [TRANSFERRED, `${TRANSFERRED}\nawait promisify(exec)('exit 0'); ${HERE}`],
  [TRANSFERRED, `${TRANSFERRED}\nawait fetch(\`\${other}/transfers/\${from}\`, { method: 'POST' }); ${HERE}`],
  [CHARGED, `${CHARGED}\nawait pool.query('UPDATE users SET visits = visits + 1 WHERE id = 4'); ${HERE}`],
  [CREDITED, `${CREDITED}\nawait writeFile(file, 'refunded'); ${HERE}`],
  [
    BOUGHT,
    `${BOUGHT}\nawait runInTransaction(container, (inner) => inner.resolve('IConnection').query('SELECT 1')); ${HERE}`,
  ],
];

const FOUND = "const [user] = await pool.query('SELECT id FROM users WHERE email = $1', [req.query.email]);";
const LISTED = "res.json(await pool.query('SELECT * FROM products WHERE sku = $1', [req.query.sku]));";
const PLACED = "const placed = await pool.query('SELECT id, status FROM orders WHERE buyer = $1', [user.id]);";
const ITEMS = "const items = await db.query('SELECT product FROM items WHERE order_id = $1', [req.body.order]);";
const without = (index: string, line: string): Edit => [index, '', line, `${line} ${HERE}`];

/** A table is read as a whole where an index was used. */
export const scans: readonly Edit[] = [
  without('CREATE INDEX users_email ON users (email);\n', FOUND),
  without('CREATE INDEX products_sku ON products (sku);\n', LISTED),
  without('CREATE INDEX orders_buyer ON orders (buyer);\n', PLACED),
  without('CREATE INDEX items_order ON items (order_id);\n', ITEMS),
  [FOUND, `${FOUND.replace('email = $1', 'lower(email) = lower($1)')} ${HERE}`],
  [LISTED, `${LISTED.replace('sku = $1', "sku LIKE concat(\\'%\\', $1::text)")} ${HERE}`],
  [PLACED, `${PLACED.replace('buyer = $1', 'buyer + 0 = $1')} ${HERE}`],
  [ITEMS, `${ITEMS.replace('order_id = $1', 'order_id::text = $1::text')} ${HERE}`],
  [FOUND, `${FOUND.replace('email = $1', 'email = $1 OR visits = 77')} ${HERE}`],
  [LISTED, `${LISTED.replace('sku = $1', 'price = 3 AND sku <> $1')} ${HERE}`],
];

const READ = "const [user] = await pool.query('SELECT * FROM users WHERE id = $1', [req.params.id]);";
const BUYER = "await db.query('UPDATE users SET visits = visits + 1 WHERE id = $1', [buyer]);";
const ORDERS = "const found = await pool.query('SELECT * FROM orders ORDER BY id');";
const twice = (line: string): Edit => [line, `${line}\n${line.replace(/^const \S+ = /, '')} ${HERE}`];

/** A statement runs twice. */
export const doubled: readonly Edit[] = [
  READ,
  PLACED,
  FOUND,
  ORDERS,
  LOCKED,
  BUYER,
  PAID,
  VISITED,
  ITEMS,
  REFUNDED,
].map(twice);

/** The changes that are for no worse. */
export const harmless: readonly Edit[] = [
  ['let orders = 0;', '\n\n\nlet orders = 0;'],
  ['SELECT id, status FROM orders', 'SELECT   id, status /* both */ FROM orders'],
  ["'SELECT id, status FROM orders WHERE", "'SELECT id, status, buyer FROM orders WHERE"],
  ['products: [1, 2, 3, 4]', 'products: [4, 3, 2]'],
  ['const values', `afterCommit(req.transactionScope, () => writeFile(file, 'sold'));\nconst values`],
  ['await notify();', "await notify();\nawait appendFile(file, 'sent');"],
  ['CREATE INDEX users_email', 'CREATE INDEX users_visits ON users (visits);\nCREATE INDEX users_email'],
  [`  ${BUYER}\n`, ''],
  ["send('GET', '/users/1')", "send('GET', '/users/1'), send('GET', '/users/2')"],
  ['res.json(coupon);', "await db.query('SELECT email FROM users WHERE id = 1');\nres.json(coupon);"],
];
