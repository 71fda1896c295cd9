/** @typedef {import('./database.mjs').Stored} Stored */
/** @typedef {import('./ledger.mjs').Ledger} Ledger */
/** @typedef {import('./ledger.mjs').Work} Work */
/** @typedef {import('./stored.mjs').Findings} Findings */
/** @typedef {import('./stored.mjs').StoredOrder} StoredOrder */

/**
 * Compares the responses that clients received with what is stored.
 * @param {Stored} database
 * @param {StoredOrder[]} orders
 * @param {Ledger} ledger
 * @param {Findings} findings
 */
export async function checkGuarantees(database, orders, ledger, findings) {
  for (const violation of ledger.violations) findings.add('responses', violation);
  const users = await database.query('SELECT id, name, email FROM users');
  const keys = await database.query('SELECT idempotency_keys.key, status, body FROM idempotency_keys');

  /** @type {Map<string, { stored: string, requestId: string | undefined }[]>} by mark, what is stored in the form of its response */
  const done = new Map([...ledger.works.keys()].map((mark) => [mark, []]));
  for (const { id, items, createdAt, requestId } of orders) {
    const stored = JSON.stringify({ id, items, createdAt });
    const mark = items.map(({ productId }) => productId).find((productId) => done.has(productId));
    if (mark === undefined) findings.add('half-written', `an order that nobody requested: ${stored}`);
    else done.get(mark)?.push({ stored, requestId });
  }
  for (const { id, name, email } of users) {
    done.get(String(name))?.push({ stored: JSON.stringify({ id, name, email }), requestId: undefined });
  }
  for (const work of ledger.works.values()) checkWork(work, done.get(work.mark) ?? [], findings);
  checkKeys(keys, ledger, done, findings);
}

/**
 * @param {Work} work
 * @param {{ stored: string, requestId: string | undefined }[]} done
 * @param {Findings} findings
 */
function checkWork(work, done, findings) {
  const { kind, mark, response, requestId } = work;
  const [first] = done;
  if (response !== undefined && !done.some(({ stored }) => stored === response)) {
    findings.add('acknowledged and missing', `${response}; stored is ${first?.stored}`);
  }
  if (requestId && kind === 'order' && first && first.requestId !== requestId) {
    findings.add('half-written', `${mark} was done by request ${requestId}, stored is ${first.requestId}`);
  }
  if (first && response === undefined && kind === 'order') {
    const { items } = JSON.parse(first.stored);
    if (JSON.stringify({ items }) !== JSON.stringify(work.body)) {
      findings.add('half-written', `${mark} requested ${JSON.stringify(work.body)}; stored is ${first.stored}`);
    }
  }
  if (done.length > 1)
    findings.add('done more than once', `${mark}: ${done.map(({ stored }) => stored).join(' and ')}`);
  if (done.length > 0 && work.refused) findings.add('denied and done', `${mark} was refused: ${first?.stored}`);
  if (done.length > 0 && work.denied) findings.add('denied and done', `${mark} got 503: ${first?.stored}`);
}

/**
 * A key is stored with its work, or neither is.
 * @param {import('./database.mjs').Row[]} rows
 * @param {Ledger} ledger
 * @param {Map<string, { stored: string }[]>} done
 * @param {Findings} findings
 */
function checkKeys(rows, ledger, done, findings) {
  const bodies = new Map(rows.map(({ key, status, body }) => [key, status === 201 ? body : `status ${status}`]));
  for (const { key, mark } of ledger.works.values()) {
    if (key === undefined) continue;
    const [body, stored] = [bodies.get(key), done.get(mark)?.[0]?.stored];
    if (body !== stored) findings.add('keys', `${key} keeps ${body}; stored is ${stored}`);
    bodies.delete(key);
  }
  for (const key of bodies.keys()) findings.add('keys', `${key} was never sent`);
}
