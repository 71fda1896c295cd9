/** The servers of a run are known to PostgreSQL by this and the name of the run. */
export const APPLICATION = 'all-or-nothing ';
export const QUEUE = 'confirm-order';
export const TABLES = `
  CREATE TABLE orders (id TEXT PRIMARY KEY, customer TEXT NOT NULL);
  CREATE TABLE lines (id SERIAL PRIMARY KEY, order_id TEXT NOT NULL REFERENCES orders (id), product TEXT NOT NULL);
  CREATE TABLE payments (order_id TEXT PRIMARY KEY, amount INTEGER NOT NULL);
`;
