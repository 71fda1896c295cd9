/** Each target is a file in `targets/`; of these sources it counts what it reaches. */
export const TARGETS: Readonly<Record<string, string>> = {
  sql: 'packages/transaction/src/sql/',
  json: 'service/src/(http/request|problem|users|orders)',
  headers: 'packages/(idempotency/src/key|inspector/src/access|transaction/src/replicas/replica)',
  config: 'service/src/(config|events/sender|database/pool)|packages/transaction/src/postgres/',
  inspector: 'packages/inspector/src/',
  queries: 'service/src/(http/request|users)',
  heads: 'service/src/(http|hosts|ids|problem|users|orders)|packages/(http|express|fastify|idempotency)/src/',
};
